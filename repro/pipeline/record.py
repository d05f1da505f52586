"""Runs any command on this machine under the recorder, without a container or a bundle."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repro.paths import runtime_folder
from repro.run import Plan


def record(
    command: list[str],
    out: Path,
    *,
    label: str = "",
    params: Path | None = None,
    snapshot_every: int = 0,
    plan: Plan | None = None,
) -> int:
    """Run `command` in the current folder; `out` becomes a run's folder. Returns the exit status.

    `plan` says where it starts, what it keeps, where it ends: noise members and replays without a bundle.
    The runtime is started as a program of its own: the host never imports it.
    """
    words = ["record", "--out", str(out)]
    words += ["--label", label] if label else []
    words += ["--params", str(params)] if params else []
    words += ["--snapshot-every", str(snapshot_every)] if snapshot_every else []
    words += plan.words(contained=False) if plan else []
    argv = [sys.executable, str(runtime_folder() / "boot.py"), *words, "--", *command]
    program = subprocess.Popen(argv, cwd=Path.cwd())
    with _passing_on(program):
        status = _ended(program)
    return 128 - status if status < 0 else status


def _ended(program: "subprocess.Popen[bytes]") -> int:
    while True:
        try:
            return program.wait()
        except KeyboardInterrupt:
            continue  # the runtime got it too: it stops the program and closes the record


@contextmanager
def _passing_on(program: "subprocess.Popen[bytes]") -> Iterator[None]:
    """A terminal tells all its programs of Ctrl-C; a SIGTERM is for this process alone, and is handed on."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: program.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
