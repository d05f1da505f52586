"""Exported files and a real engine: the image that comes out is the one that the manifest names."""

import json
import os
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from repro import bundle as bundles
from repro import move
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import silent
from repro.files import write_whole
from repro.model import canonical
from repro.pipeline.export import ExportOptions, export
from repro.pipeline.import_ import ImportOptions, import_

from .box import ssh_box
from .conftest import SPARE, Sample, content_of, make_bundle, make_image
from .test_kills import killed, whole_run

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.docker


@pytest.fixture
def name() -> Iterator[str]:
    """A bundle's name that no image has yet; its images go at the end."""
    word = f"move-{uuid.uuid4().hex[:10]}"
    yield word
    remove_images(word)


def remove_images(word: str) -> None:
    """Images of that bundle, with the containers that prove a load, if a kill left one."""
    argv = ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", f"repro/{word}"]
    if names := subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split():
        using = ["docker", "ps", "--all", "--quiet", *(f"--filter=ancestor={name}" for name in names)]
        if held := subprocess.run(using, capture_output=True, text=True, check=True).stdout.split():
            subprocess.run(["docker", "rm", "--force", *held], capture_output=True, check=True)
        subprocess.run(["docker", "image", "rm", "--force", *names], capture_output=True, check=True)


@pytest.fixture
def engine() -> Iterator[DockerEngine]:
    found = DockerEngine()
    yield found
    found.client.close()


def _address() -> str:
    argv = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    return (
        os.environ.get("DOCKER_HOST")
        or subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    )


def test_the_image_is_loaded_and_named(
    name: str, engine: DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = make_bundle(tmp_path / ".repro", name=name)
    made = export(sample.bundle, ExportOptions(out=tmp_path), silent)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    found = import_(made.path, ImportOptions(out=tmp_path / "there"), silent)
    assert found.image is not None
    assert sample.bundle.manifest.image is not None
    assert sample.bundle.manifest.image.names(found.image.id)
    held = engine.find(found.image.tag)
    assert held is not None
    assert held.layers == tuple(layer.digest for layer in sample.image.layers)
    assert found.bundle.image() == found.image
    again = import_(made.path, ImportOptions(out=tmp_path / "there"), silent)
    assert again.cached
    assert again.image == found.image


def test_thin_against_an_engine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine has the first bundle's image; of the second, with other code, it needs one layer."""
    first = make_bundle(tmp_path / ".repro", name=name, size=200_000)
    import_(first.packed(tmp_path).path, ImportOptions(out=tmp_path / "there"), silent)
    second = make_bundle(tmp_path / ".repro", name=name, code=b"print(2)\n", size=200_000)
    whole = export(second.bundle, ExportOptions(out=tmp_path), silent)
    thin = export(second.bundle, ExportOptions(out=tmp_path, thin=_address()), silent)
    assert thin.path.name == f"{second.top}.thin.repro"
    assert thin.record.image is not None
    assert thin.record.image.left_out == [layer.digest for layer in second.image.layers[:2]]
    assert thin.bytes < whole.bytes / 3
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    found = import_(thin.path, ImportOptions(out=tmp_path / "there"), silent)
    assert found.image is not None
    assert second.bundle.manifest.image is not None
    assert second.bundle.manifest.image.names(found.image.id)


@pytest.mark.ssh
def test_thin_against_an_engine_behind_ssh(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its own process: the SDK leaves it to the end of the process to close what it opened."""
    sample = make_bundle(tmp_path / ".repro", name=name)
    import_(sample.packed(tmp_path).path, ImportOptions(out=tmp_path / "there"), silent)
    (tmp_path / "ssh").mkdir()
    with ssh_box(tmp_path / "ssh", monkeypatch) as address:
        argv = [sys.executable, "-m", "repro", "export", str(sample.bundle.path), "--json", "--thin", address]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    left = json.loads(done.stdout)["left_out"]
    assert left["layers"] == [layer.digest for layer in sample.image.layers]
    assert left["files"] == SPARE


def test_a_thin_file_where_its_layers_are_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = _unique(make_bundle(tmp_path / ".repro", name=name))
    thin = sample.packed(tmp_path, held=2, spare=False)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ReproError) as caught:
        import_(thin.path, ImportOptions(out=tmp_path / "there"), silent)
    assert caught.value.code == "import-layers-missing"
    assert not (tmp_path / "there").exists()
    found = import_(thin.path, ImportOptions(out=tmp_path / "there", load=False), silent)
    assert found.image is None


def _unique(sample: Sample) -> Sample:
    """The bundle with an image whose layers no engine has."""
    image = make_image(sample.bundle.manifest.id, size=250 * (4 + uuid.uuid4().int % 4000))
    manifest = msgspec.structs.replace(sample.bundle.manifest, image=content_of(image))
    write_whole(sample.bundle.path / "bundle.json", canonical.pretty(manifest))
    return Sample(bundles.open_bundle(sample.bundle.path), image)


def test_kills_while_the_image_is_loaded(name: str, engine: DockerEngine, tmp_path: Path) -> None:
    """What the engine has under the bundle's name is the bundle's image, or nothing."""
    sample = make_bundle(tmp_path / ".repro", name=name, size=6_000_000)
    file, out, cache = sample.packed(tmp_path).path, tmp_path / "there", tmp_path / "cache"
    words = ("import", str(file), "-o", str(out))
    took = whole_run(tmp_path, cache, *words)
    chance, known, tag = random.Random("load"), content_of(sample.image), sample.wish().tag  # noqa: S311
    for _ in range(12):
        remove_images(name)
        killed(chance.uniform(0.5, 1.0) * took, tmp_path, cache, *words)
        held = engine.find(tag)
        assert held is None or known.names(held.id)
    found = import_(file, ImportOptions(out=out), silent)
    assert found.image is not None
    assert known.names(found.image.id)


def test_no_engine_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = make_bundle(tmp_path / ".repro")
    made = sample.packed(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(ReproError) as caught:
        import_(made.path, ImportOptions(out=tmp_path / "there"), silent)
    assert caught.value.code == "engine-unreachable"
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("target", ["nothing.repro", "text", "tcp://127.0.0.1:1"])
def test_a_target_that_tells_nothing(target: str, tmp_path: Path) -> None:
    sample = make_bundle(tmp_path / ".repro")
    (tmp_path / "text").write_bytes(b"hello")
    word = target if "://" in target else str(tmp_path / target)
    with pytest.raises(ReproError) as caught:
        export(sample.bundle, ExportOptions(out=tmp_path, thin=word), silent)
    expected = {
        "nothing.repro": "export-target",
        "text": "export-target",
        "tcp://127.0.0.1:1": "engine-unreachable",
    }
    assert caught.value.code == expected[target]
    assert not list(tmp_path.glob("[!.]*" + move.SUFFIX))
