"""Runs any command on this machine under the recorder, without a container or a bundle."""

import subprocess
import sys
from pathlib import Path

from repro.paths import runtime_folder


def record(
    command: list[str], out: Path, *, label: str = "", params: Path | None = None, snapshot_every: int = 0
) -> int:
    """Run `command` in the current folder; `out` becomes a run's folder. Returns the exit status.

    The runtime is started as a program of its own: the host never imports it.
    """
    words = ["record", "--out", str(out)]
    words += ["--label", label] if label else []
    words += ["--params", str(params)] if params else []
    words += ["--snapshot-every", str(snapshot_every)] if snapshot_every else []
    argv = [sys.executable, str(runtime_folder() / "boot.py"), *words, "--", *command]
    program = subprocess.Popen(argv)
    while True:
        try:
            return program.wait()
        except KeyboardInterrupt:
            continue  # the runtime got it too: it stops the program and closes the record
