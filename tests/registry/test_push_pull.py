"""A bundle goes into a real registry and comes out the same; what is not the same is refused."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import requests

from repro import bundle as bundles
from repro import oci, paths
from repro.cli.ending import end
from repro.cli.main import cli
from repro.errors import ReproError
from repro.events import Note, silent
from repro.files import write_whole
from repro.model import canonical
from repro.model.move import Thin
from repro.pipeline import signed
from repro.pipeline.pull import Pulled, PullOptions, pull
from repro.pipeline.push import Pushed, PushOptions, push
from repro.trust import make_key
from tests.move.conftest import Sample, make_bundle

from .conftest import Heard
from .servers import Registry, Relay

pytestmark = pytest.mark.registry
LARGE = 1_200_000


def bundle_of(home: Path, **changes: object) -> Sample:
    """A bundle with a wheel and layers above 1 MB; all of its image is in the cache."""
    sample = make_bundle(home, size=LARGE, **changes)  # type: ignore[arg-type]
    blobs = oci.Blobs(paths.cache())
    blobs.put(sample.image.config)
    blobs.put(sample.image.manifest)
    return sample


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return bundle_of(tmp_path / "home")


def pushed(sample: Sample, place: str, *, image: bool = False) -> Pushed:
    return push(sample.bundle, place, PushOptions(image=image), silent)


def pulled(place: str, out: Path, monkeypatch: pytest.MonkeyPatch, **more: object) -> Pulled:
    """Pull with an empty cache, as another machine would."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("REPRO_CACHE", str(out / "cache"))
        return pull(place, PullOptions(out=out, load=False, **more), silent)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, object]:
    """Everything below a folder: bytes and mode of files, texts of links, folders."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.is_dir() or (path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def test_what_comes_out_is_what_went_in(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{registry.address}/team/name"
    sent = pushed(sample, place, image=True)
    content = sample.bundle.manifest.image
    assert content is not None
    assert sent.image is not None
    assert sent.image.digest == content.manifest
    assert sent.image.reference == f"{place}:{sample.bundle.manifest.id[:12]}"
    assert sent.bundle.reference == f"{place}:{sample.bundle.manifest.id[:12]}.bundle"
    for word in (sent.bundle.reference, sent.image.reference, place, f"{place}@{sent.bundle.digest}"):
        out = tmp_path / f"out-{len(word)}"
        got = pulled(word, out, monkeypatch)
        assert got.digest == sent.bundle.digest
        assert got.bundle.path == out / sample.top
        assert contents(got.bundle.path) == contents(sample.bundle.path)
        assert bundles.verify(got.bundle) == []
    assert pulled(place, out, monkeypatch).cached


def test_the_artifact_is_the_same_each_time_and_says_what_it_is(
    sample: Sample, registry: Registry, tmp_path: Path
) -> None:
    place = f"{registry.address}/team/name"
    first = pushed(sample, place)
    copy = tmp_path / "copy" / sample.top
    shutil.copytree(sample.bundle.path, copy, symlinks=True)
    second = push(bundles.open_bundle(copy), place, PushOptions(image=False), silent)
    assert (second.bundle.digest, second.bundle.blobs) == (first.bundle.digest, 0)
    word = first.bundle.reference.rpartition(":")[2]
    found = requests.get(
        f"http://{registry.address}/v2/team/name/manifests/{word}",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
        timeout=30,
    ).json()
    assert found["artifactType"] == "application/vnd.reprobundle.bundle.v1"
    titles = [row.get("annotations", {}).get("org.opencontainers.image.title") for row in found["layers"]]
    assert titles == ["wheels/six-1-py3-none-any.whl", None]


def test_a_wheel_that_two_bundles_share_is_sent_once(registry: Registry, tmp_path: Path) -> None:
    place = f"{registry.address}/team/name"
    pushed(bundle_of(tmp_path / "one"), place)
    second = pushed(bundle_of(tmp_path / "two", code=b"print(2)\n"), place)
    assert second.bundle.total > LARGE
    assert second.bundle.bytes < 100_000


def test_signature_and_seed_go_along_and_cost_little(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{registry.address}/team/name"
    first = pushed(sample, place)
    public, _id = make_key(tmp_path / "own.pem")
    signed.sign(sample.bundle, tmp_path / "own.pem")
    write_whole(sample.bundle.path / "seed" / "state.safetensors", bytes(100))
    write_whole(sample.bundle.path / "runs" / "x" / "run.json", b"{}")
    again = pushed(sample, place)
    assert again.bundle.before == first.bundle.digest
    assert again.bundle.bytes < 20_000
    got = pulled(place, tmp_path / "out", monkeypatch, keys=[public])
    assert (got.bundle.path / "seed" / "state.safetensors").read_bytes() == bytes(100)
    assert (got.bundle.path / "signature.json").is_file()
    assert not (got.bundle.path / "runs").exists()
    assert signed.standing(got.bundle.path, [public]).checked


def test_a_signature_that_came_later_is_added(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, out = f"{registry.address}/team/name", tmp_path / "out"
    pushed(sample, place)
    got = pulled(place, out, monkeypatch)
    before = contents(got.bundle.path)
    public, _id = make_key(tmp_path / "own.pem")
    signed.sign(sample.bundle, tmp_path / "own.pem")
    pushed(sample, place)
    with pytest.raises(ReproError) as raised:
        pulled(place, out, monkeypatch, keys=[make_key(tmp_path / "other.pem")[0]])
    assert raised.value.code == "signature-untrusted"
    assert contents(got.bundle.path) == before
    again = pulled(place, out, monkeypatch, keys=[public])
    assert again.cached
    assert set(contents(got.bundle.path)) - set(before) == {"signature.json"}


def test_wheels_that_were_left_out_are_added(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, out = f"{registry.address}/team/name", tmp_path / "out"
    pushed(sample, place)
    got = pulled(place, out, monkeypatch)
    wheel = "wheels/six-1-py3-none-any.whl"
    (got.bundle.path / wheel).unlink()
    write_whole(got.bundle.path / "thin.json", canonical.pretty(Thin(files=[wheel])))
    with pytest.raises(ReproError) as raised:
        push(got.bundle, place, PushOptions(image=False), silent)
    assert raised.value.code == "bundle-thin"
    assert pulled(place, out, monkeypatch).cached
    assert contents(got.bundle.path) == contents(sample.bundle.path)


def test_an_unsigned_bundle_is_refused_where_a_key_is_asked_for(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(sample, f"{registry.address}/team/name")
    public, _id = make_key(tmp_path / "own.pem")
    with pytest.raises(ReproError) as raised:
        pulled(f"{registry.address}/team/name", tmp_path / "out", monkeypatch, keys=[public])
    assert raised.value.code == "signature-missing"
    assert list((tmp_path / "out").glob("[!.]*-*")) == []


def test_two_bundles_in_one_repository_are_told_apart(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{registry.address}/team/name"
    one, two = bundle_of(tmp_path / "one"), bundle_of(tmp_path / "two", code=b"print(2)\n")
    pushed(one, place)
    pushed(two, place)
    with pytest.raises(ReproError) as raised:
        pulled(place, tmp_path / "out", monkeypatch)
    assert raised.value.code == "registry-no-bundle"
    assert f"{place}:{one.bundle.manifest.id[:12]}.bundle" in raised.value.found
    got = pulled(f"{place}:{two.bundle.manifest.id[:12]}", tmp_path / "out", monkeypatch)
    assert got.bundle.manifest.id == two.bundle.manifest.id


def test_what_is_there_is_no_bundle(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{registry.address}/team/name"
    sent = pushed(sample, place, image=True)
    assert sent.image is not None
    for word, code in (
        (f"{place}@{sent.image.digest}", "registry-no-bundle"),
        (f"{place}:0000", "registry-no-bundle"),
        (f"{registry.address}/team/other", "registry-no-repository"),
        (f"{registry.address}/team/other:abc", "registry-no-repository"),
    ):
        with pytest.raises(ReproError) as raised:
            pulled(word, tmp_path / "out", monkeypatch)
        assert raised.value.code == code, word


def test_nothing_is_overwritten(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{registry.address}/team/name"
    pushed(sample, place)
    out = tmp_path / "out"
    write_whole(out / sample.top / "notes.txt", b"mine")
    with pytest.raises(ReproError) as raised:
        pulled(place, out, monkeypatch)
    assert raised.value.code == "pull-in-the-way"
    shutil.rmtree(out / sample.top)
    got = pulled(place, out, monkeypatch)
    write_whole(got.bundle.path / "Dockerfile", b"FROM other\n")
    with pytest.raises(ReproError) as raised:
        pulled(place, out, monkeypatch)
    assert raised.value.code == "bundle-damaged"


def test_a_damaged_bundle_is_not_pushed(sample: Sample, registry: Registry) -> None:
    write_whole(sample.bundle.path / "code.tar", b"print(3)\n")
    with pytest.raises(ReproError) as raised:
        pushed(sample, f"{registry.address}/team/name")
    assert raised.value.code == "bundle-damaged"
    assert requests.get(f"http://{registry.address}/v2/_catalog", timeout=30).json()["repositories"] == []


@pytest.mark.parametrize(
    ("word", "seen"),
    [
        ("team/name", "no registry"),
        ("name", "no registry"),
        ("https://registry.example/team/name", "no scheme"),
        ("registry.example/Team/name", "capital"),
        ("registry.example/team/name:tag", "tag `tag`"),
        ("registry.example/../name", "form"),
        ("registry.example/team/name@sha256:abc", "form"),
        ("registry.example", "no registry"),
        ("", "no registry"),
        ("registry.example/a\nb", "form"),
    ],
)
def test_words_that_are_no_repository(sample: Sample, word: str, seen: str) -> None:
    with pytest.raises(ReproError) as raised:
        pushed(sample, word)
    assert raised.value.code == "registry-reference"
    assert seen in " ".join(raised.value.found)
    assert raised.value.exit_status == 2


def test_the_commands_answer_in_text_and_json(
    sample: Sample,
    registry: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place, folder = f"{registry.address}/team/name", str(sample.bundle.path)
    assert end(cli, ["push", folder, place, "--no-image", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "push"
    assert told["image"] is None
    assert told["artifact"]["bytes_sent"] > LARGE
    assert end(cli, ["push", folder, place]) == 0
    said = capsys.readouterr()
    assert f"next: repro pull {place}:{sample.bundle.manifest.id[:12]}\n" in said.out
    assert "push image" in said.err
    monkeypatch.chdir(tmp_path)
    assert end(cli, ["pull", place, "--no-load", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bundle"]["path"] == str(tmp_path / ".repro" / sample.top)
    assert told["image"] is None
    assert (tmp_path / ".repro" / ".gitignore").read_text() == "*\n"
    assert end(cli, ["pull", place, "--no-load"]) == 0
    assert "(was there)" in capsys.readouterr().out


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.docker
def test_an_engine_pulls_the_image_and_calls_it_by_its_configuration(
    sample: Sample, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = pushed(sample, f"{registry.address}/team/name", image=True)
    content = sample.bundle.manifest.image
    assert sent.image is not None
    assert content is not None
    name = sent.image.reference
    docker("pull", "--quiet", name)
    try:
        assert docker("image", "inspect", "--format", "{{.Id}}", name) in (content.config, content.manifest)
        assert content.manifest in docker("image", "inspect", "--format", "{{.RepoDigests}}", name)
    finally:
        docker("image", "rm", name)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "elsewhere"))
    got = pull(f"{registry.address}/team/name", PullOptions(out=tmp_path / "out"), silent)
    assert got.image is not None
    try:
        assert content.names(got.image.id)
        assert docker("image", "inspect", "--format", "{{.Id}}", got.image.tag) == got.image.id
        held = pull(f"{registry.address}/team/name", PullOptions(out=tmp_path / "again"), silent)
        assert held.image == got.image
    finally:
        docker("image", "rm", got.image.tag)


@pytest.mark.docker
def test_layers_that_the_engine_has_are_not_fetched(
    sample: Sample, registry: Registry, relay: Relay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{relay.address}/team/name"
    pushed(sample, place, image=True)
    pushed(other := bundle_of(tmp_path / "two", code=b"print(2)\n"), place, image=True)
    words = [f"{place}:{one.bundle.manifest.id[:12]}" for one in (sample, other)]
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "elsewhere"))
    first = pull(words[0], PullOptions(out=tmp_path / "out"), silent)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "nowhere"))
    relay.seen.clear()
    second = pull(words[1], PullOptions(out=tmp_path / "out"), silent)
    try:
        assert relay.count("GET", other.image.layers[0].digest) == 0
        assert relay.count("GET", other.image.layers[2].digest) == 1
        assert second.image is not None
    finally:
        for got in (first, second):
            if got.image:
                docker("image", "rm", got.image.tag)


@pytest.mark.docker
def test_an_image_that_was_not_pushed_is_told_and_the_bundle_is_kept(
    sample: Sample, registry: Registry, tmp_path: Path
) -> None:
    pushed(sample, f"{registry.address}/team/name")
    with pytest.raises(ReproError) as raised:
        pull(f"{registry.address}/team/name", PullOptions(out=tmp_path / "out"), silent)
    assert raised.value.code == "registry-no-image"
    assert bundles.verify(bundles.open_bundle(tmp_path / "out" / sample.top)) == []


def test_a_bundle_without_an_image_is_pushed_with_a_warning(sample: Sample, registry: Registry) -> None:
    path = sample.bundle.path / "bundle.json"
    document = json.loads(path.read_text())
    document["image"] = None
    path.write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    heard = Heard()
    sent = push(
        bundles.open_bundle(sample.bundle.path), f"{registry.address}/team/name", PushOptions(), heard
    )
    assert sent.image is None
    assert any(isinstance(event, Note) and "no image" in event.text for event in heard)
