"""An engine of a test's own: Docker or Podman of a Debian release, in namespaces that end with the test.

The engine's root comes from Debian's packages, once a machine. It has a network of its own with
nothing in it: it cannot pull, and it cannot touch the bridge of the machine's engine. What is
below the folder for temporary files it sees at the same paths, nothing else of the machine.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from repro.files import alone

HERE = Path(__file__).parent
PACKAGES = {"docker": "docker.io,iptables,iproute2", "podman": "podman,runc,catatonit,iptables,iproute2"}
# Hosts that are containers themselves give no right to raise limits; and crun wants a single cgroup tree.
_PODMAN = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_ROOM = Path("/tmp")  # a socket's path is short, and engine.sh shows this folder to the engine
_START_SECONDS = 120
_MOUNTED = ("etc/docker", "etc/cdi", "usr/local/bin", "var/lib/docker")


def _root_right() -> list[str]:
    """Words before a command that needs root."""
    return [] if os.geteuid() == 0 else ["sudo", "-n"]


def engine_root(suite: str, program: str = "docker") -> Path:
    """The root folder of a Debian release with its engine, made once a machine and kept."""
    root = _ROOM / "repro-test-engines" / (suite if program == "docker" else f"{suite}-{program}")
    with alone(root):
        if not root.is_dir():
            _make_root(suite, root, PACKAGES[program])
    return root


def _make_root(suite: str, root: Path, packages: str) -> None:
    part = root.with_name(f".part-{root.name}")
    subprocess.run([*_root_right(), "rm", "-rf", str(part)], check=True)
    # A mirror of sid may lag: an index past its date is old, and still signed.
    lagging = '--aptopt=Acquire::Check-Valid-Until "false"'
    words = ["mmdebstrap", "--quiet", "--variant=minbase", lagging, f"--include={packages}", suite, str(part)]
    made = subprocess.run([*_root_right(), *words], check=False, capture_output=True, text=True, timeout=900)
    assert made.returncode == 0, made.stderr
    folders = [str(part / name) for name in _MOUNTED]
    subprocess.run([*_root_right(), "mkdir", "-p", *folders], check=True)
    subprocess.run([*_root_right(), "mv", str(part), str(root)], check=True)


class PrivateEngine:
    """A running engine. `host` is its address; `folder` has its settings, its log and what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "run" / "docker.sock"
        self.host = f"unix://{self.socket}"

    def log(self) -> str:
        """What the engine has said so far."""
        paths = [self.folder / name for name in ("start.log", "engine.log")]
        return "".join(path.read_text(errors="replace") for path in paths if path.exists())


@contextmanager
def started(
    suite: str,
    *,
    program: str = "docker",
    containerd_store: bool = False,
    cdi: bool = True,
    prepare: Callable[[Path], None] | None = None,
) -> Iterator[PrivateEngine]:
    """A running engine of a Debian release, for the block's time; all that it held goes with it.

    `prepare` may put programs into `bin`, which the engine finds on its PATH, before it starts.
    """
    root = engine_root(suite, program)
    folder = Path(tempfile.mkdtemp(prefix="repro-engine-", dir=_ROOM))
    for name in ("etc/docker", "etc/cdi", "bin", "data", "run"):
        (folder / name).mkdir(parents=True)
    features = {"containerd-snapshotter": containerd_store, "cdi": cdi}
    settings = {"features": features} | ({"cdi-spec-dirs": ["/etc/cdi"]} if cdi else {})
    (folder / "etc/docker/daemon.json").write_text(json.dumps(settings))
    (folder / "etc/docker/containers.conf").write_text(_PODMAN)
    if prepare is not None:
        prepare(folder)
    engine = PrivateEngine(folder)
    apart = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    words = ["sh", str(HERE / "engine.sh"), program, str(root), str(folder), str(os.getgid())]
    try:
        with (folder / "start.log").open("wb") as said:
            process = subprocess.Popen(
                [*_root_right(), *apart, *words], stdin=subprocess.PIPE, stdout=said, stderr=said
            )
        try:
            _await(engine, process)
            yield engine
        finally:
            _end(process)
    finally:
        subprocess.run([*_root_right(), "rm", "-rf", str(folder)], check=True)


@contextmanager
def private_engine(
    suite: str = "trixie", *, containerd_store: bool = False, program: str = "docker"
) -> Iterator[str]:
    """The address of a running, empty engine of a Debian release, as DOCKER_HOST has it."""
    with started(suite, containerd_store=containerd_store, program=program) as engine:
        yield engine.host


def _await(engine: PrivateEngine, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the engine answers; say its log when it does not."""
    from docker import DockerClient
    from docker.errors import DockerException

    for _ in range(_START_SECONDS * 10):
        if engine.socket.exists():
            try:
                client = DockerClient(base_url=engine.host, version="auto", timeout=20)
                client.close()
                return
            except DockerException:
                pass
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(f"the private engine does not answer:\n{engine.log()[-4000:]}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close the engine's standard input, which ends it, and all of its containers with it."""
    if process.stdin and not process.stdin.closed:
        process.stdin.close()
    process.wait(timeout=90)
