"""This machine as an engine, for hosts without a daemon: no isolation, the same jobs.

Paths that a container would see are replaced by the host's own, in the command, in the
values of the environment and in the working folder.
"""

import contextlib
import os
import platform
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from repro.engine.contract import Bind, EngineInfo, Exit, Job, Stop
from repro.engine.interpreters import find_python
from repro.engine.pump import Pump
from repro.errors import ReproError

__all__ = ["LocalEngine", "find_python", "translate"]

_GRACE_SECONDS = 30
_PIECE = 1 << 16
_PYTHON_WORDS = ("python3", "python")
# They would let other packages than the locked ones in.
_NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")


class LocalEngine:
    """An `Engine` that starts programs here; `python` stands for the word `python3` in a job."""

    def __init__(self, python: Path, kind: str = "inplace") -> None:
        self._python = python
        self._kind = kind

    def info(self) -> EngineInfo:
        """This machine, and the interpreter that jobs get."""
        return EngineInfo(
            kind=self._kind,
            version=platform.release(),
            endpoint="this machine",
            architecture={"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
            facts={"python": str(self._python), "libc": " ".join(platform.libc_ver())},
        )

    def run(self, job: Job, output: Callable[[bytes], None], stop: Stop | None = None) -> Exit:
        """Run a job as a process group of its own; see `Engine.run`. Nothing is isolated."""
        kills_before = _memory_kills()
        process = self._start(job)
        pump = Pump(_pieces(process), output)
        ended = threading.Event()
        threading.Thread(target=_watch, args=(process, ended), daemon=True).start()
        try:
            with (stop or Stop()).by(lambda: _tell(process, ended)):
                pump.drain_until(ended)
        except BaseException:
            _stop(process, ended, pump)
            raise
        status = process.wait()
        shell_status = 128 - status if status < 0 else status
        return Exit(shell_status, shell_status == 137 and _memory_kills() > kills_before, _obtained(job))

    def _start(self, job: Job) -> "subprocess.Popen[bytes]":
        argv, env, workdir = translate(job, str(self._python))
        inherited = {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}
        try:
            return subprocess.Popen(
                argv,
                env=inherited | env,
                cwd=workdir or None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as problem:
            raise ReproError(
                "program-start-failed",
                f"`{argv[0]}` cannot be started on this machine",
                found=f"{problem.strerror or problem}: `{problem.filename or argv[0]}`",
                done="nothing was run",
                tries=["repro doctor"],
            ) from problem


def translate(job: Job, python: str) -> tuple[list[str], dict[str, str], str]:
    """Command, environment and working folder of a job in this machine's own paths."""
    places = _Places(job.binds)
    words = [*(job.entrypoint or ()), *job.argv]
    argv = [places.outside(word) for word in words]
    if words[0] in _PYTHON_WORDS:
        argv[0] = python
    return argv, {k: places.outside(v) for k, v in job.env.items()}, places.outside(job.workdir)


class _Places:
    """Where the paths of binds lie on the host; the longest one counts, whole components only."""

    def __init__(self, binds: tuple[Bind, ...]) -> None:
        self._hosts = {b.inside.rstrip("/"): str(b.host.absolute()) for b in binds}
        longest_first = sorted(self._hosts, key=len, reverse=True)
        names = "|".join(re.escape(name) for name in longest_first)
        # A path starts at the text's start, after a separator or quote, or after a scheme's `://`.
        before = r"(?:(?<![^=:,;|\s'\"\[({])|(?<=://))"
        self._pattern = re.compile(rf"{before}(?:{names})(?=$|[/:,;|\s'\"\])}}])") if names else None

    def outside(self, text: str) -> str:
        """`text` with every path of a bind replaced."""
        return self._pattern.sub(lambda match: self._hosts[match[0]], text) if self._pattern else text


def _pieces(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """The output as it comes, up to its end."""
    if process.stdout is None:
        return
    with process.stdout as stream:
        while piece := os.read(stream.fileno(), _PIECE):
            yield piece


def _watch(process: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    """As in a container, nothing outlives the first process."""
    process.wait()
    _signal(process, signal.SIGKILL)
    ended.set()


def _tell(process: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    """SIGTERM now, and SIGKILL where grace does not help."""
    _signal(process, signal.SIGTERM)

    def insist() -> None:
        if not ended.wait(_GRACE_SECONDS):
            _signal(process, signal.SIGKILL)

    threading.Thread(target=insist, daemon=True).start()


def _stop(process: "subprocess.Popen[bytes]", ended: threading.Event, pump: Pump) -> None:
    """SIGTERM, grace, SIGKILL; what the program says meanwhile is handed on. A second Ctrl-C kills it."""
    _signal(process, signal.SIGTERM)
    timer = threading.Timer(_GRACE_SECONDS, _signal, (process, signal.SIGKILL))
    timer.daemon = True
    timer.start()
    try:
        pump.drain_until(ended)
    finally:
        timer.cancel()
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    # A session of its own: its process group has the number of its first process.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _memory_kills() -> int:
    """How many processes the kernel has killed for memory since it started (proc(5), vmstat)."""
    try:
        lines = Path("/proc/vmstat").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _obtained(job: Job) -> dict[str, str]:
    asked = {"network": not job.network, "read_only": job.read_only, "memory_bytes": bool(job.memory_bytes)}
    return {name: "not enforced" for name, wanted in asked.items() if wanted} | {"user": str(os.getuid())}
