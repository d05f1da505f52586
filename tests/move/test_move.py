"""A bundle goes into a file and comes out the same, all of it or none of it."""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro import bundle as bundles
from repro import move, oci, paths
from repro.errors import ReproError
from repro.events import Event, Note, silent
from repro.files import sha256_bytes, sha256_file, write_whole
from repro.pipeline.import_ import ImportOptions, import_

from .conftest import SPARE, Sample, make_bundle

ROOT = Path(__file__).resolve().parents[2]


def contents(folder: Path) -> dict[str, tuple[str, bool]]:
    """Every file below a folder: digest of its content or text of its link, and whether it is a program."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = (f"-> {path.readlink()}", False)
        elif path.is_file():
            found[name] = (sha256_file(path), bool(path.stat().st_mode & 0o100))
    return found


def test_a_bundle_comes_out_as_it_went_in(sample: Sample, tmp_path: Path) -> None:
    (sample.bundle.path / "Dockerfile").chmod(0o755)
    write_whole(sample.bundle.path / "seed" / "state.json", b"{}")
    write_whole(sample.bundle.path / "runs" / "r1" / "run.json", b"{}")
    before = contents(sample.bundle.path)
    made = sample.packed(tmp_path, runs=True)
    assert made.sha256 == sha256_file(made.path)
    assert made.bytes == made.path.stat().st_size

    found = import_(made.path, ImportOptions(out=tmp_path / "there", load=False), silent)

    assert contents(found.bundle.path) == before
    assert found.bundle.path == tmp_path / "there" / sample.top
    assert bundles.verify(found.bundle) == []
    assert not found.cached


def test_the_same_bundle_gives_the_same_bytes(sample: Sample, tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        folder.mkdir()
        sample.packed(folder)
    (name,) = (path.name for path in first.iterdir())
    assert (first / name).read_bytes() == (second / name).read_bytes()


def test_nothing_of_the_sender_is_in_the_file(sample: Sample, tmp_path: Path) -> None:
    write_whole(sample.bundle.path / "image.json", b'{"id": "sender"}')
    made = sample.packed(tmp_path)
    data = made.path.read_bytes()
    assert str(tmp_path).encode() not in data
    with tarfile.open(made.path) as tar:
        members = tar.getmembers()
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", 315532800)}
    assert f"{sample.top}/image.json" not in {m.name for m in members}


def test_tar_alone_gives_a_folder_that_verifies(sample: Sample, tmp_path: Path) -> None:
    made = sample.packed(tmp_path)
    pod = tmp_path / "pod"
    pod.mkdir()
    subprocess.run(["tar", "xf", str(made.path)], check=True, cwd=pod)
    assert bundles.verify(bundles.open_bundle(pod / sample.top)) == []
    image = pod / sample.top / "image.tar.zst"
    listed = subprocess.run(["tar", "tf", image], check=False, capture_output=True, text=True)
    if listed.returncode == 0:  # a tar that finds zstd
        assert "manifest.json" in listed.stdout.split()


def test_without_the_image(sample: Sample, tmp_path: Path) -> None:
    made = sample.packed(tmp_path, image=None)
    with tarfile.open(made.path) as tar:
        assert f"{sample.top}/image.tar.zst" not in tar.getnames()
    said: list[Event] = []
    found = import_(made.path, ImportOptions(out=tmp_path / "there"), said.append)
    assert found.image is None
    assert Note("note", "the file carries no image") in said


def test_the_layers_come_into_the_cache(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sample.packed(tmp_path)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "empty"))
    with made.path.open("rb") as source:
        checked = move.check(source, "f", made.bytes, silent)
        assert checked.image is not None
        assert [layer.path for layer in checked.image.layers] == [None] * 3
        assert not (tmp_path / "empty").exists(), "checking writes nothing"
        source.seek(0)
        kept = move.keep_layers(source, "f", checked, oci.Blobs(paths.cache()), silent)
    assert (kept.config, kept.manifest) == (sample.image.config, sample.image.manifest)
    for layer in kept.layers:
        assert layer.path is not None
        assert f"sha256:{sha256_file(layer.path)}" == layer.digest


def test_thin_leaves_out_what_an_earlier_file_brought(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sample.packed(tmp_path)
    second = make_bundle(tmp_path / "sender" / ".repro", code=b"print(2)\n")
    content = second.bundle.manifest.image
    assert content is not None
    held = move.held_before(first.path, content)
    assert held == 2
    thin = second.packed(tmp_path, held=held, spare=False)
    assert thin.record.image is not None
    assert thin.record.image.left_out == [layer.digest for layer in second.image.layers[:2]]

    found = import_(thin.path, ImportOptions(out=tmp_path / "there", load=False), silent)

    assert found.left_out == set(SPARE)
    assert bundles.verify(found.bundle) == []
    with pytest.raises(ReproError, match="without its wheels") as caught:
        bundles.need_wheels(found.bundle, "a test")
    assert caught.value.code == "bundle-thin"

    whole = second.packed(tmp_path)
    again = import_(whole.path, ImportOptions(out=tmp_path / "there", load=False), silent)
    assert again.cached
    assert not again.left_out
    assert contents(again.bundle.path) == contents(second.bundle.path)


def test_a_note_of_left_out_files_excuses_wheels_alone(sample: Sample) -> None:
    folder = sample.bundle.path
    write_whole(folder / "thin.json", b'{"files": ["code.tar", "wheels/six-1-py3-none-any.whl"]}')
    (folder / "code.tar").unlink()
    (folder / "wheels" / "six-1-py3-none-any.whl").unlink()
    assert [(d.path, d.kind) for d in bundles.verify(sample.bundle)] == [("code.tar", "missing")]


def test_runs_come_later_and_do_not_replace_any(sample: Sample, tmp_path: Path) -> None:
    there = ImportOptions(out=tmp_path / "there", load=False)
    import_(sample.packed(tmp_path).path, there, silent)
    kept = tmp_path / "there" / sample.top / "runs" / "r1" / "run.json"
    write_whole(kept, b"its own")
    for run in ("r1", "r2"):
        write_whole(sample.bundle.path / "runs" / run / "run.json", b"sent")
    found = import_(sample.packed(tmp_path, runs=True).path, there, silent)
    assert found.cached
    assert kept.read_bytes() == b"its own"
    assert (kept.parent.parent / "r2" / "run.json").read_bytes() == b"sent"


def test_links_and_pipes_of_runs_stay_and_that_is_said(sample: Sample, tmp_path: Path) -> None:
    run = sample.bundle.path / "runs" / "r1"
    write_whole(run / "run.json", b"{}")
    (run / "latest").symlink_to("/etc/passwd")
    said: list[Event] = []
    target = tmp_path / "x.repro"
    move.pack(sample.wish(runs=True), target, said.append)
    assert any(isinstance(e, Note) and "runs/r1/latest" in e.text for e in said)
    with tarfile.open(target) as tar:
        assert f"{sample.top}/runs/r1/latest" not in tar.getnames()


@pytest.mark.parametrize(
    "name", ["a\nb", "n" * 200 + "é" * 40, "A.CSV", "bad-\udcff"], ids=["control", "long", "case", "bytes"]
)
def test_export_refuses_names_that_import_would(name: str, sample: Sample, tmp_path: Path) -> None:
    write_whole(sample.bundle.path / "runs" / "r" / "a.csv", b"1")
    try:
        (sample.bundle.path / "runs" / "r" / name).write_bytes(b"2")
    except OSError:
        assert len(name.encode()) > 255, "no file system takes it, so no bundle has it"
        return
    with pytest.raises(ReproError) as caught:
        sample.packed(tmp_path, runs=True)
    assert caught.value.code == "export-name"
    assert not list(tmp_path.glob("*.repro"))


def test_export_notices_a_change(sample: Sample, tmp_path: Path) -> None:
    (sample.bundle.path / "code.tar").write_bytes(b"print(3)\n")
    with pytest.raises(ReproError) as caught:
        sample.packed(tmp_path)
    assert caught.value.code == "export-changed"
    assert not [path for path in tmp_path.iterdir() if path.name != "sender"]


def test_export_notices_a_damaged_layer(sample: Sample, tmp_path: Path) -> None:
    path = sample.image.layers[1].path
    assert path is not None
    kept = path.read_bytes()
    path.write_bytes(kept[:-1] + b"x")
    try:
        with pytest.raises(ReproError) as caught:
            sample.packed(tmp_path)
    finally:
        path.write_bytes(kept)
    assert caught.value.code == "export-changed"
    assert not list(tmp_path.glob("*.repro"))


@pytest.mark.parametrize("there", ["another", "no-bundle", "file"])
def test_what_is_in_the_way_is_not_touched(there: str, sample: Sample, tmp_path: Path) -> None:
    made = sample.packed(tmp_path)
    target = tmp_path / "there" / sample.top
    if there == "file":
        write_whole(target, b"mine")
    else:
        write_whole(target / ("bundle.json" if there == "another" else "notes.txt"), b"mine")
    with pytest.raises(ReproError) as caught:
        import_(made.path, ImportOptions(out=tmp_path / "there", load=False), silent)
    assert caught.value.code == "import-in-the-way"
    assert [
        p.read_bytes() for p in (tmp_path / "there").rglob("*") if p.is_file() and p.suffix != ".lock"
    ] == [b"mine"]


def test_a_signature_travels(sample: Sample, tmp_path: Path) -> None:
    from repro import trust
    from repro.pipeline import signed

    public, _ = trust.make_key(tmp_path / "key")
    other, _ = trust.make_key(tmp_path / "other")
    signed.sign(sample.bundle, tmp_path / "key")
    made = sample.packed(tmp_path)
    options = {"out": tmp_path / "there", "load": False}
    with pytest.raises(ReproError) as caught:
        import_(made.path, ImportOptions(**options, keys=[other]), silent)  # type: ignore[arg-type]
    assert caught.value.code == "signature-untrusted"
    assert not (tmp_path / "there").exists()
    found = import_(made.path, ImportOptions(**options, keys=[public]), silent)  # type: ignore[arg-type]
    assert (found.bundle.path / "signature.json").read_bytes() == (
        sample.bundle.path / "signature.json"
    ).read_bytes()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB, nearly full."""
    if os.getuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    (folder / "fill").write_bytes(bytes(1_000_000))
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_export_to_a_full_disk_leaves_nothing(tmp_path: Path, small_disk: Path) -> None:
    sample = make_bundle(tmp_path / ".repro", name="wide", size=100_000)
    with pytest.raises(ReproError) as caught:
        sample.packed(small_disk)
    assert caught.value.code == "disk-full"
    assert [path.name for path in small_disk.iterdir()] == ["fill"]
    (small_disk / "fill").unlink()
    assert sample.packed(small_disk).path.is_file()


def test_import_to_a_full_disk_leaves_nothing_and_goes_on_later(tmp_path: Path, small_disk: Path) -> None:
    sample = make_bundle(tmp_path / ".repro", name="wide", size=100_000)
    file = sample.packed(tmp_path).path
    options = ImportOptions(out=small_disk / "there", load=False)
    with pytest.raises(ReproError) as caught:
        import_(file, options, silent)
    assert caught.value.code == "disk-full"
    assert list((small_disk / "there").iterdir()) == []
    (small_disk / "fill").unlink()
    assert contents(import_(file, options, silent).bundle.path) == contents(sample.bundle.path)


def test_two_imports_at_once(sample: Sample, tmp_path: Path) -> None:
    """Of two in the same folder one makes it and the other finds it; both say that it is there."""
    file = sample.packed(tmp_path).path
    argv = [sys.executable, "-m", "repro", "import", str(file), "--no-load", "--json", "-o", "there"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE) for _ in range(2)]
    said = [json.loads(process.communicate()[0]) for process in both]
    assert sorted(answer["cached"] for answer in said) == [False, True]
    assert contents(tmp_path / "there" / sample.top) == contents(sample.bundle.path)


def test_the_command_line(sample: Sample, tmp_path: Path) -> None:
    def repro(*words: str) -> dict[str, object]:
        argv = [sys.executable, "-m", "repro", *words, "--json"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    made = repro("export", str(sample.bundle.path), "--no-image")
    file = sample.bundle.path.parent / f"{sample.top}.repro"
    assert made["path"] == str(file)
    assert made["sha256"] == sha256_bytes(file.read_bytes())
    found = repro("import", str(file))
    assert found["bundle"] == {
        "id": sample.bundle.manifest.id,
        "path": str(tmp_path / ".repro" / sample.top),
    }
    assert (tmp_path / ".repro" / ".gitignore").read_bytes() == b"*\n"
