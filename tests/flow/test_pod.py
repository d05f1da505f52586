"""A run on a machine with nothing of ours but the unpacked bundle, and its way home."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.events import Note, silent
from repro.pipeline.import_run import Home, import_run

from .conftest import ROOT, Said

pytestmark = pytest.mark.net
Repro = Callable[..., Said]
ALONE = ("unshare", "--net", *(() if os.geteuid() == 0 else ("--map-root-user",)))


def on_pod(bundle: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`python3 -m repro_runtime` in the bundle's folder: no network, no environment but PATH and HOME."""
    env = {name: os.environ[name] for name in ("PATH", "HOME")}
    argv = [*ALONE, sys.executable, "-m", "repro_runtime", *words]
    return subprocess.run(argv, cwd=bundle, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tiny: Path, repro: Repro) -> Path:
    said = repro(tiny, "build", "--engine", "inplace", "--json")
    assert said.status == 0, said.out + said.err
    return Path(said.json["bundle"]["path"])


@pytest.fixture(scope="module")
def pod(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle as it is unpacked on a rented machine, with two runs made there."""
    folder = tmp_path_factory.mktemp("pod") / built.name
    shutil.copytree(built, folder, ignore=shutil.ignore_patterns("runs"))
    for words in (("--run-id", "pod-1"), ("--run-id", "pod-2", "--set", "lr=0.25")):
        done = on_pod(folder, "run", *words)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    """A bundle of our own for each test."""
    folder = tmp_path / ".repro" / built.name
    shutil.copytree(built, folder, ignore=shutil.ignore_patterns("runs"))
    return folder


@pytest.fixture
def run(pod: Path, tmp_path: Path) -> Path:
    """A copy of the first run, to be spoiled."""
    return Path(shutil.copytree(pod / "runs" / "pod-1", tmp_path / "pod-1"))


def tar_of(folder: Path) -> Path:
    """What a shell on the pod makes of a run's folder."""
    made = folder.with_suffix(".tar")
    subprocess.run(["tar", "-cf", made, "-C", folder.parent, folder.name], check=True)
    return made


def refused(run: Path, home: Path) -> ReproError:
    """Why this run does not come home; nothing of it is left there."""
    with pytest.raises(ReproError) as caught:
        import_run(run, str(home), home, silent)
    assert sorted(p.name for p in home.glob("runs/*")) == []
    return caught.value


def test_the_bundle_is_as_it_was_packed_after_the_runs(pod: Path, repro: Repro) -> None:
    said = repro(pod.parent, "verify", str(pod))
    assert said.status == 0, said.out + said.err


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "tar"])
def test_a_run_comes_home_by_the_command(pod: Path, home: Path, repro: Repro, packed: bool) -> None:
    source = tar_of(pod / "runs" / "pod-2") if packed else pod / "runs" / "pod-2"
    said = repro(home.parent.parent, "import-run", str(source), "--json")
    assert said.status == 0, said.out + said.err
    assert said.json["run"] == {"id": "pod-2", "path": str(home / "runs" / "pod-2")}
    assert (said.json["attempts"], said.json["result"], said.json["cached"]) == ({"1": "ok"}, 1, False)
    again = repro(home.parent.parent, "import-run", str(source), "--json")
    assert (again.status, again.json["cached"]) == (0, True)
    assert repro(home.parent.parent, "verify", str(home)).status == 0
    shown = repro(home.parent.parent, "show", "pod-2")
    assert shown.status == 0, shown.err
    other = repro(home.parent.parent, "import-run", str(pod / "runs" / "pod-1"))
    assert other.status == 0, other.err
    compared = repro(home.parent.parent, "compare", "pod-1", "pod-2", "--json")
    assert "lr" in compared.out
    assert compared.status in (1, 6, 7)


def test_a_run_of_our_own_engine_is_one_too(home: Path, pod: Path, repro: Repro, tmp_path: Path) -> None:
    said = repro(home.parent.parent, "run", str(home), "--engine", "inplace", "--json", "--set", "lr=0.125")
    assert said.status == 0, said.err
    made = home / "runs" / said.json["run"]["id"]
    away = Path(shutil.move(made, tmp_path / "away"))
    brought = import_run(away, "", home, silent)
    assert brought.folder == made
    assert (made / "host.json").is_file()


def set_json(path: Path, **changes: object) -> None:
    """Change a document and the result's digest of it, which the run itself then does not give away."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    result = path.parent.parent / "result.json"
    if result.exists():
        told = json.loads(result.read_text())
        told["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        result.write_text(json.dumps(told))


def test_a_run_of_another_bundle_is_foreign(run: Path, home: Path) -> None:
    record = run / "attempt-1" / "run.json"
    told = json.loads(record.read_text())["bundle"]
    for changed in (
        {**told, "id": "cd" * 32},
        {},
        {**told, "identity": {**told["identity"], "lock": "0" * 64}},
        {**told, "protocol": {**told["protocol"], "command": ["python", "other.py"]}},
    ):
        set_json(record, bundle=changed)
        assert refused(run, home).code == "import-run-foreign"


def test_parameters_that_no_set_names_are_foreign(run: Path, home: Path) -> None:
    set_json(run / "attempt-1" / "params.json", values={"lr": 5.0, "fail": 0})
    error = refused(run, home)
    assert error.code == "import-run-foreign"
    assert "`lr` is 5.0, the bundle's 0.5" in error.found[0]


@pytest.mark.parametrize(
    "name", ["run.json", "params.json", "gates.json", "log.txt", "metrics.json", "conditions.json"]
)
def test_an_altered_or_missing_file_is_found(run: Path, home: Path, name: str) -> None:
    path = run / "attempt-1" / name
    path.write_bytes(path.read_bytes() + b" ")
    error = refused(run, home)
    assert error.code == "import-run-altered"
    assert any(name in text for text in error.found)
    if name != "run.json":
        path.unlink()
        assert any("is not there" in text for text in refused(run, home).found)


def test_a_result_that_is_gone_is_missed(run: Path, home: Path) -> None:
    (run / "result.json").unlink()
    assert "ended well" in refused(run, home).found[0]


def test_a_trace_that_the_result_does_not_name_is_refused(run: Path, home: Path) -> None:
    (run / "attempt-1" / "trace-1.jsonl").write_text('{"k": "start"}\n')
    assert refused(run, home).code == "import-run-altered"


def test_an_attempt_without_an_end_wants_a_word(run: Path, home: Path) -> None:
    (run / "result.json").unlink()
    set_json(run / "attempt-1" / "run.json", status="running")
    assert refused(run, home).code == "import-run-unfinished"
    seen: list[object] = []
    import_run(run, str(home), home, seen.append, unfinished=True)
    assert any(isinstance(event, Note) and "no result" in event.text for event in seen)


def test_links_are_left_out_and_told(run: Path, home: Path) -> None:
    (run / "attempt-1" / "out" / "latest").symlink_to("metrics.json")
    (run / "attempt-1" / "out" / "passwords").symlink_to("/etc/passwd")
    (run / "attempt-1" / "states").symlink_to("/etc")
    for source in (run, tar_of(run)):
        brought = import_run(source, str(home), home, silent)
        assert len(brought.run.left_out) == 3
        assert not any(path.is_symlink() for path in brought.folder.rglob("*"))
        shutil.rmtree(brought.folder)


def test_a_record_that_is_a_link_is_no_record(run: Path, home: Path, tmp_path: Path) -> None:
    shutil.move(run / "attempt-1" / "log.txt", tmp_path / "log.txt")
    (run / "attempt-1" / "log.txt").symlink_to(tmp_path / "log.txt")
    assert refused(run, home).code == "import-run-altered"


def test_a_kill_leaves_nothing_that_is_taken_for_a_run(run: Path, home: Path) -> None:
    """Killed at moments spread over the command's time; the next one does it, or finds it done."""
    with (run / "attempt-1" / "out" / "weights.bin").open("wb") as file:
        file.truncate(64 << 20)
    whole = {p.relative_to(run) for p in run.rglob("*") if p.is_file()}
    words = [sys.executable, "-m", "repro", "import-run", str(run), str(home)]
    for number in range(12):
        process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=-3, stdout=-3)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1 + number * 0.08)
        process.kill()
        process.wait()
        for there in home.glob("runs/[!.]*"):
            assert {p.relative_to(there) for p in there.rglob("*") if p.is_file()} == whole
    assert subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=-3).returncode == 0
    assert [p.name for p in home.glob("runs/*")] == ["pod-1"]


def test_another_run_of_that_id_stays(run: Path, home: Path) -> None:
    first = import_run(run, str(home), home, silent).folder
    (run / "attempt-1" / "out" / "more.txt").write_text("more")
    with pytest.raises(ReproError) as caught:
        import_run(run, str(home), home, silent)
    assert caught.value.code == "import-run-exists"
    assert not (first / "attempt-1" / "out" / "more.txt").exists()


def entry(name: str, kind: bytes = tarfile.REGTYPE, **more: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    for key, value in more.items():
        setattr(made, key, value)
    return made


HOSTILE = [
    entry("../evil"),
    entry("pod-1/../../evil"),
    entry("/tmp/evil"),
    entry("pod-1/attempt-1/out//x"),
    entry("pod-1/attempt-1/out/a\nb"),
    entry("pod-1/attempt-1/out/" + "n" * 256),
    entry("pod-1/attempt-1/" + "/".join(["d" * 200] * 12)),
    entry("pod-1/attempt-1/RUN.json"),
    entry("pod-1/attempt-1/run.json"),
    entry("pod-1/attempt-1/log.txt/below"),
    entry("pod-1/attempt-1/out/hard", tarfile.LNKTYPE, linkname="/etc/passwd"),
    entry("pod-1/attempt-1/out/null", tarfile.CHRTYPE, devmajor=1, devminor=3),
    entry("pod-1/attempt-1/out/disk", tarfile.BLKTYPE, devmajor=8, devminor=0),
    entry("pod-1/attempt-1/out/pipe", tarfile.FIFOTYPE),
    entry("../folder", tarfile.DIRTYPE),
    entry("other/attempt-1/run.json"),
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda info: repr(info.name[:30]))
def test_a_hostile_member_is_refused(run: Path, home: Path, hostile: tarfile.TarInfo) -> None:
    path = tar_of(run)
    with tarfile.open(path, "a") as archive:
        archive.addfile(hostile, BytesIO())
    assert refused(path, home).code in ("import-run-unreadable", "import-run-altered")
    assert not (home.parent / "evil").exists()
    assert not Path("/tmp/evil").exists()


def test_a_pipe_in_a_folder_is_refused_and_not_opened(run: Path, home: Path) -> None:
    os.mkfifo(run / "attempt-1" / "out" / "pipe")
    assert refused(run, home).code == "import-run-unreadable"


def test_what_is_no_run_is_told(tmp_path: Path, run: Path, home: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no attempt-1/run.json" in str(refused(empty, home).found)
    note = tmp_path / "note.tar"
    note.write_bytes(b"not a tar" * 200)
    assert refused(note, home).code == "import-run-unreadable"
    subprocess.run(["gzip", "-k", tar_of(run)], check=True)
    error = refused(run.with_suffix(".tar.gz"), home)
    assert any(text.startswith("gunzip -k ") for text in error.tries)


def test_mutated_archives_are_refused_or_the_same(run: Path, home: Path) -> None:
    path = tar_of(run)
    whole = path.read_bytes()
    same = {p.relative_to(run): p.read_bytes() for p in run.rglob("*") if p.is_file()}
    draw = random.Random(5)  # noqa: S311 - no secret
    outside = {p.name for p in home.parent.parent.iterdir()}
    taken = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 8))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(data[: draw.choice((len(data), len(data), draw.randrange(len(data))))])
        brought = taken_or_refused(path, home)
        if brought is None:
            continue
        taken += 1
        for name, content in same.items():
            if name.parts[:2] != ("attempt-1", "out") and name.name in recorded(run):
                assert (brought.folder / name).read_bytes() == content
        shutil.rmtree(brought.folder)
    assert taken < 300
    assert {p.name for p in home.parent.parent.iterdir()} == outside


def taken_or_refused(path: Path, home: Path) -> Home | None:
    """The run that came home, or None for one that was refused with a message and left nothing."""
    code = ""
    try:
        return import_run(path, str(home), home, silent)
    except ReproError as error:
        code = error.code
    assert code.startswith("import-run-")
    assert list(home.glob("runs/*")) == []
    return None


def recorded(run: Path) -> set[str]:
    """Names of the files whose digests the result has."""
    return set(json.loads((run / "result.json").read_text())["files"])
