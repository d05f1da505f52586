"""SIGKILL at any moment of export and import: nothing is lost, nothing half-made is taken for whole."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repro import bundle as bundles
from repro import move, oci
from repro.events import silent
from repro.files import sha256_file
from repro.pipeline.import_ import ImportOptions, import_

from .conftest import Sample, make_bundle
from .test_move import contents

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("REPRO_KILLS", "12"))
SIZE = 3_000_000  # enough that every part of the work takes a while


def _start(folder: Path, cache: Path, *words: str) -> "subprocess.Popen[bytes]":
    env = {**os.environ, "PYTHONPATH": str(ROOT), "REPRO_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "repro", *words, "--quiet"]
    return subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def whole_run(folder: Path, cache: Path, *words: str) -> float:
    begin = time.monotonic()
    _, said = (process := _start(folder, cache, *words)).communicate()
    assert process.returncode == 0, said
    return time.monotonic() - begin


def killed(moment: float, folder: Path, cache: Path, *words: str) -> bool:
    """Start it, kill it then; whether it was still at work."""
    process = _start(folder, cache, *words)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode != 0


@pytest.fixture
def large(tmp_path: Path) -> Sample:
    return make_bundle(tmp_path / "sender" / ".repro", name="large", size=SIZE)


def test_killed_exports(large: Sample, tmp_path: Path) -> None:
    """A name that ends in `.repro` always means a file that can be imported."""
    out = tmp_path / "out"
    out.mkdir()
    words = ("export", str(large.bundle.path), "-o", ".")
    cache = Path(os.environ["REPRO_CACHE"])
    took = whole_run(out, cache, *words)
    (file,) = out.glob("*.repro")
    wanted = sha256_file(file)
    chance, dead = random.Random("export"), 0  # noqa: S311
    for turn in range(KILLS):
        if turn % 2:
            file.unlink(missing_ok=True)
        dead += killed(chance.uniform(0.4, 1.05) * took, out, cache, *words)
        assert [path.name for path in out.glob("*") if path.name[0] != "."] in ([file.name], [])
        assert not file.exists() or sha256_file(file) == wanted
    assert dead > KILLS / 3
    whole_run(out, cache, *words)
    assert sha256_file(file) == wanted
    assert [path.name for path in out.iterdir()] == [file.name], "what the kills left was cleared"


def test_killed_imports(large: Sample, tmp_path: Path) -> None:
    """A folder with its name is the bundle, a layer with its name the layer; the next import ends it."""
    file = large.packed(tmp_path).path
    wanted = contents(large.bundle.path)
    there, cache = tmp_path / "there", tmp_path / "cache"
    there.mkdir()
    words = ("import", str(file), "--no-load")
    took = whole_run(tmp_path, tmp_path / "first", *words, "-o", str(tmp_path / "elsewhere"))
    chance, dead = random.Random("import"), 0  # noqa: S311
    for turn in range(KILLS):
        out = there / str(turn // 4)  # four kills on one folder, then a new one
        dead += killed(chance.uniform(0.4, 1.05) * took, tmp_path, cache, *words, "-o", str(out))
        for folder in (p for p in out.glob("*") if p.name[0] != "."):
            assert bundles.verify(bundles.open_bundle(folder)) == []
            assert contents(folder) == wanted
        for layer in (cache / "blobs" / "sha256").glob("[!.]*"):
            assert sha256_file(layer) == layer.name
        if turn % 4 == 3:
            import_(file, ImportOptions(out=out, load=False), silent)
            assert contents(out / large.top) == wanted
            assert [p.name for p in out.iterdir() if p.name[0] != "." or "part" in p.name] == [large.top]
            for path in (cache / "blobs" / "sha256").glob("*"):
                path.unlink()
    assert dead > KILLS / 3


def test_a_kill_between_folder_and_layers_is_made_good(
    large: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there, its layers are not: importing again brings them."""
    file = large.packed(tmp_path).path
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    options = ImportOptions(out=tmp_path / "there", load=False)
    import_(file, options, silent)
    lost = oci.Blobs(tmp_path / "cache").find(large.image.layers[1].digest)
    assert lost is not None
    assert lost.path is not None
    lost.path.unlink()
    again = import_(file, options, silent)
    assert again.cached
    assert oci.Blobs(tmp_path / "cache").find(large.image.layers[1].digest) == lost
    assert move.top_of(again.bundle.manifest) == large.top
