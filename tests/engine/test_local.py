"""Jobs on this machine, without any container."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from repro.engine.contract import Bind, Exit, Job
from repro.engine.local import LocalEngine, find_python, translate
from repro.errors import ReproError

HERE = Path(sys.executable)


def run(code: str, **more: object) -> tuple[Exit, str]:
    pieces: list[bytes] = []
    ended = LocalEngine(HERE).run(Job("", ("python3", "-c", code), **more), pieces.append)
    return ended, b"".join(pieces).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/in", "/host/a"),
        ("/in/file", "/host/a/file"),
        ("/in/deep/file", "/host/b/file"),
        ("/input", "/input"),
        ("/x/in", "/x/in"),
        ("--out=/in/x", "--out=/host/a/x"),
        ("/in:/usr/bin:/in/deep", "/host/a:/usr/bin:/host/b"),
        ("file:///in/wheels", "file:///host/a/wheels"),
        ("https://in/wheels", "https://in/wheels"),
        ("open('/in')", "open('/host/a')"),
        ("/in-side", "/in-side"),
    ],
)
def test_paths_of_binds_become_the_hosts(text: str, expected: str) -> None:
    binds = (Bind(Path("/host/a"), "/in"), Bind(Path("/host/b"), "/in/deep", True))
    argv, env, workdir = translate(
        Job("", ("python3", text), env={"K": text}, binds=binds, workdir="/in"), "/py"
    )
    assert argv == ["/py", expected]
    assert env == {"K": expected}
    assert workdir == "/host/a"


def test_an_entrypoint_goes_first() -> None:
    assert translate(Job("", ("-c", "x"), entrypoint=("python3",)), "/py")[0] == ["/py", "-c", "x"]


def test_streams_are_one_and_the_status_is_the_programs(tmp_path: Path) -> None:
    code = "import sys, os; print(os.getcwd()); print('err', file=sys.stderr); sys.exit(7)"
    ended, said = run(code, binds=(Bind(tmp_path, "/w"),), workdir="/w")
    assert ended.status == 7
    assert sorted(said.splitlines()) == sorted([str(tmp_path), "err"])
    assert ended.obtained["network"] == "not enforced"


def test_a_killed_program_has_the_shells_status() -> None:
    ended, _said = run("import os; os.kill(os.getpid(), 9)")
    assert (ended.status, ended.oom) == (137, False)


def test_the_callers_module_path_stays_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    _ended, said = run("import os; print(os.environ.get('PYTHONPATH'))")
    assert said == "None\n"


def test_interrupt_stops_and_drains() -> None:
    code = """
import signal, sys, time
def stop(*_):
    print('closing the record', flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print('ready', flush=True)
time.sleep(600)
"""
    pieces: list[bytes] = []

    def output(data: bytes) -> None:
        pieces.append(data)
        if b"ready" in data:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        LocalEngine(HERE).run(Job("", ("python3", "-c", code)), output)
    assert b"closing the record" in b"".join(pieces)


def test_nothing_outlives_the_first_process() -> None:
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
print(child.pid, flush=True)
"""
    _ended, said = run(code)
    child = Path(f"/proc/{int(said)}/stat")
    for _ in range(100):
        # Killed it is at once; gone only when whoever adopted it has taken notice.
        if not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail(child.read_text())


def test_a_program_that_is_not_there_has_a_cause() -> None:
    with pytest.raises(ReproError) as caught:
        LocalEngine(HERE).run(Job("", ("/no/such/program",)), print)
    assert caught.value.code == "program-start-failed"


def test_info_names_the_interpreter() -> None:
    info = LocalEngine(HERE).info()
    assert info.kind == "inplace"
    assert info.facts["python"] == str(HERE)


def test_the_running_interpreter_is_found() -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    found = find_python(version)
    assert found is not None
    assert os.access(found, os.X_OK)
    assert find_python("3.99") is None


def test_version_folders_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = ".".join(map(str, sys.version_info[:2]))
    full = ".".join(map(str, sys.version_info[:3]))
    place = tmp_path / "versions" / full / "bin"
    place.mkdir(parents=True)
    (place / f"python{short}").symlink_to(HERE)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "base_prefix", "/nowhere")
    assert find_python(short) == place / f"python{short}"
    assert find_python(full) == place / f"python{short}"
