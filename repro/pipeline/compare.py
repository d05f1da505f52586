"""Reads two runs and judges how they diverge."""

from collections.abc import Collection
from pathlib import Path

from repro import compare as judges
from repro import trace
from repro.model.verdict import Verdict


def compare(a: Path, b: Path, allow: Collection[str] = ()) -> Verdict:
    """The verdict for two run folders; `allow` names protocol keys that may differ.

    Raises:
        run-unreadable, trace-damaged, trace-too-new: a run cannot be read.
    """
    return judges.judge(side(a), side(b), allow=allow)


def side(path: Path) -> judges.Side:
    """One run with its traces, as the judge takes it."""
    run = trace.read_run(path)
    return judges.Side(run, trace.read_trace(Path(run.folder)))
