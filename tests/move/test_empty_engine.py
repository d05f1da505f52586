"""A bundle leaves one machine and arrives at an empty engine without any network, of either kind of store."""

from pathlib import Path

import pytest

from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import silent
from repro.pipeline.export import ExportOptions, export
from repro.pipeline.import_ import ImportOptions, import_

from ..engine.rig import private_engine  # noqa: TID252 - `tests` is no package
from .conftest import make_bundle

pytestmark = [pytest.mark.docker, pytest.mark.versions]


@pytest.mark.parametrize("containerd_store", [False, True], ids=["classic", "containerd"])
def test_whole_then_thin(containerd_store: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_bundle(tmp_path / ".repro", size=200_000)
    second = make_bundle(tmp_path / ".repro", code=b"print(2)\n", size=200_000)
    known = [sample.bundle.manifest.image for sample in (first, second)]
    whole = export(first.bundle, ExportOptions(out=tmp_path), silent)
    with private_engine("trixie", containerd_store=containerd_store) as host:
        early = first.packed(tmp_path, held=2, spare=False)
        thin = export(second.bundle, ExportOptions(out=tmp_path, thin=str(whole.path)), silent)
        assert thin.record.image is not None
        assert len(thin.record.image.left_out) == 2
        monkeypatch.setenv("DOCKER_HOST", host)
        monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
        with pytest.raises(ReproError) as caught:
            import_(early.path, ImportOptions(out=tmp_path / "there"), silent)
        assert caught.value.code == "import-layers-missing"

        made = import_(whole.path, ImportOptions(out=tmp_path / "there"), silent)
        assert made.image is not None
        assert known[0] is not None
        assert made.image.id == (known[0].manifest if containerd_store else known[0].config)

        monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "another"))
        after = import_(thin.path, ImportOptions(out=tmp_path / "there"), silent)
        assert after.image is not None
        assert known[1] is not None
        assert known[1].names(after.image.id)
        assert DockerEngine(host).held_layers(second.image) == 3
