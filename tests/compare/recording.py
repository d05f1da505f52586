"""Records programs as users do, and asks the tool about them as users do."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from repro import trace
from repro.compare import Side
from repro.paths import runtime_folder

# What the runs and the tool get of the surroundings: nothing that this test run was given for itself.
_OWN = ("PYTHON", "OMP_", "REPRO_", "MKL_", "ATEN_")


def surroundings(**more: str) -> dict[str, str]:
    """The environment of a run."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith(_OWN)}, **more}


def record(folder: Path, command: list[str], env: dict[str, str]) -> Path:
    """Run a command below `folder` under the recorder; the run's folder."""
    words = [sys.executable, str(runtime_folder() / "boot.py"), "record", "--out", "rec", "--", *command]
    done = subprocess.run(
        words, cwd=folder, env=surroundings(**env), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "recording stopped" not in done.stderr
    return folder / "rec"


def side(run: Path) -> Side:
    """A recorded run as the judge takes it."""
    found = trace.read_run(run)
    return Side(found, trace.read_trace(Path(found.folder)))


def asked(a: Path, b: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit status and document of `repro compare A B --json`."""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "repro", "compare", str(a), str(b), "--json", *options],
        env=surroundings(PYTHONPATH=root, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)
