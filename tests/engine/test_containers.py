"""Real containers: what they may, what they leave, how they end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from repro.engine.contract import Bind, Exit, Job
from repro.engine.docker import DockerEngine
from repro.errors import ReproError

from .conftest import Mine

pytestmark = pytest.mark.docker
ORDINARY = 1000


def python(image: str, code: str, **more: object) -> Job:
    return Job(image, ("-c", code), entrypoint=("python3",), **more)


def run(engine: DockerEngine, job: Job) -> tuple[Exit, str]:
    pieces: list[bytes] = []
    ended = engine.run(job, pieces.append)
    return ended, b"".join(pieces).decode()


@pytest.fixture
def ordinary_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pretend to be called by user 1000; returns a folder of theirs."""
    out = tmp_path / "out"
    out.mkdir()
    if os.getuid() == 0:
        os.chown(out, ORDINARY, ORDINARY)
        monkeypatch.setattr(os, "getuid", lambda: ORDINARY)
        monkeypatch.setattr(os, "getgid", lambda: ORDINARY)
    return out


def test_output_belongs_to_the_caller(engine, base_image, mine: Mine, ordinary_user: Path) -> None:
    code = """
import getpass, os
with open('/out/x', 'w') as f:
    f.write('hi')
print(os.getuid(), getpass.getuser(), os.path.expanduser('~'))
"""
    ended, said = run(
        engine, python(base_image, code, binds=(Bind(ordinary_user, "/out", True),), labels=mine.labels)
    )
    assert ended.status == 0
    assert said.split() == [str(os.getuid()), "repro", "/tmp"]
    assert (ordinary_user / "x").stat().st_uid == os.getuid()
    assert mine.containers() == []


def test_root_is_read_only_and_tmp_runs_programs(engine, base_image, mine: Mine, ordinary_user: Path) -> None:
    code = """
import os, shutil, subprocess
try:
    open('/opt/x', 'w')
except OSError as e:
    print('root', e.strerror)
shutil.copy('/bin/true', '/tmp/true')
print('tmp', subprocess.run(['/tmp/true']).returncode)
try:
    open('/in/x', 'w')
except OSError as e:
    print('bind', e.strerror)
"""
    job = python(base_image, code, binds=(Bind(ordinary_user, "/in"),), labels=mine.labels)
    _ended, said = run(engine, job)
    assert said.splitlines() == ["root Read-only file system", "tmp 0", "bind Read-only file system"]


def test_no_network_no_rights_and_limits_in_force(engine, base_image, mine: Mine) -> None:
    code = """
import os
print(sorted(os.listdir('/sys/class/net')))
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
print(status['CapEff'].strip(), status['NoNewPrivs'].strip())
shm = os.statvfs('/dev/shm')
print(shm.f_blocks * shm.f_frsize)
import resource
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    ended, said = run(engine, python(base_image, code, shm_bytes=1 << 28, labels=mine.labels))
    net, rights, shm, files = said.splitlines()
    assert "eth0" not in net
    assert "lo" in net
    assert rights == "0000000000000000 1"
    assert int(shm) == 1 << 28
    assert ended.obtained["network"] == "none"
    # An engine with low limits of its own refuses ours; then the record says so.
    assert ended.obtained["nofile"] in (files, "engine default")


def test_streams_are_one_and_the_status_is_the_programs(engine, base_image, mine: Mine) -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr, flush=True); sys.exit(5)"
    ended, said = run(engine, python(base_image, code, labels=mine.labels))
    assert (ended.status, ended.oom) == (5, False)
    assert sorted(said.splitlines()) == ["err", "out"]
    assert mine.containers() == []


def test_interrupt_stops_drains_and_removes(engine, base_image, mine: Mine) -> None:
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
        engine.run(python(base_image, code, labels=mine.labels), output)
    assert b"closing the record" in b"".join(pieces)
    assert mine.containers() == []


def test_memory_limit_is_seen(engine, base_image, mine: Mine) -> None:
    job = python(
        base_image, "x = bytearray(1 << 30); print(len(x))", memory_bytes=64 << 20, labels=mine.labels
    )
    ended, said = run(engine, job)
    assert (ended.status, ended.oom, said) == (137, True, "")


def test_a_failing_sink_leaves_no_container(engine, base_image, mine: Mine) -> None:
    def full(_data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        engine.run(python(base_image, "print(1)", labels=mine.labels), full)
    assert mine.containers() == []


@pytest.mark.parametrize(
    ("job", "code"),
    [
        ({"image": "repro-test-nothing:1", "argv": ("x",)}, "image-missing"),
        ({"argv": ("true",), "binds": (Bind(Path("/no/such/folder"), "/x"),)}, "bind-missing"),
        ({"argv": ("true",), "entrypoint": ("true",), "workdir": "relative"}, "container-start-failed"),
    ],
)
def test_refusals_have_causes(engine, base_image, mine: Mine, job: dict, code: str) -> None:
    with pytest.raises(ReproError) as caught:
        engine.run(Job(**{"image": base_image, "labels": mine.labels} | job), print)
    assert caught.value.code == code
    assert caught.value.found
    assert mine.containers() == []


def test_cards_that_are_not_there_are_never_passed_over(engine, base_image, mine: Mine) -> None:
    if "nvidia" in engine.info().facts["runtimes"]:
        pytest.skip("this engine has cards to give")
    with pytest.raises(ReproError) as caught:
        engine.run(Job(base_image, ("true",), gpus="all", labels=mine.labels), print)
    assert caught.value.code == "gpu-unavailable"
    assert mine.containers() == []


def test_a_killed_tool_leaves_a_container_that_is_found(engine, base_image, mine: Mine) -> None:
    script = f"""
import sys
from repro.engine.contract import Job
from repro.engine.docker import DockerEngine
def output(data):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
job = Job({base_image!r}, ("-c", "print('ready', flush=True); import time; time.sleep(600)"),
          entrypoint=("python3",), labels={mine.labels | {"dev.reprobundle.run": "r1"}!r})
DockerEngine().run(job, output)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as tool:
        assert tool.stdout is not None
        assert tool.stdout.readline() == b"ready\n"
        owned = mine.containers()
        assert not [left for left in engine.leftovers() if left.id in owned]
        tool.kill()
        tool.wait()
    found = [left for left in engine.leftovers() if left.id in owned]
    assert [left.run for left in found] == ["r1"]
