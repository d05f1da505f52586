"""A real bundle from build to a checked run: bill of materials, signature, refusal before anything runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Said

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]


def test_from_build_to_a_checked_run(
    tiny: Path, repro: Repro, base_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPRO_KEYS", raising=False)
    places = []
    for out in ("one", "two"):
        said = repro(tiny, "build", "--base", base_image, "--json", "-o", str(tmp_path / out))
        assert said.status == 0, said.err
        places.append(Path(said.json["bundle"]["path"]))
    first, second = ((place / "sbom.cdx.json").read_bytes() for place in places)
    assert first == second
    kinds = {part.get("purl", "").partition("/")[0] for part in json.loads(first)["components"]}
    assert kinds == {"", "pkg:deb", "pkg:pypi"}
    bundle = places[0]
    manifest = json.loads((bundle / "bundle.json").read_text())
    assert "sbom.cdx.json" in {entry["path"] for entry in manifest["files"]}

    key = str(tmp_path / "key")
    assert repro(tiny, "sign", "--new-key", key).status == 0
    assert repro(tiny, "sign", str(bundle), "--key", key).status == 0
    ran = repro(tiny, "run", str(bundle), "--key", f"{key}.pub")
    assert ran.status == 0, ran.err
    assert f"bundle `{bundle.name}` is signed by " in ran.err
    assert "not signed" in repro(tiny, "run", str(places[1])).err
    (bundle / "params" / "params.json").write_text('{"lr": 9, "fail": 0}\n')
    said = repro(tiny, "run", str(bundle), "--key", f"{key}.pub", "--json")
    assert (said.status, said.json["error"]["code"]) == (1, "bundle-damaged")
    entries = [e | {"sha256": "0" * 64} for e in manifest["files"]]
    (bundle / "bundle.json").write_text(json.dumps(manifest | {"files": entries}))
    said = repro(tiny, "run", str(bundle), "--key", f"{key}.pub", "--json")
    assert (said.status, said.json["error"]["code"]) == (1, "signature-altered")
    assert len(list((bundle / "runs").iterdir())) == 1
