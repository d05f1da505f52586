"""Whether a part of a reference is whole and the one that is wanted, and what its traces say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from repro.model.run import Attempt
from repro.model.trace import Trace


@dataclass(frozen=True)
class Wanted:
    """How a part must have been made: digest of its seed checkpoint, how it ended, its plan, its states."""

    seed: str
    statuses: tuple[str, ...]
    perturb: int | None = None
    stop: int = 0
    dense: tuple[int, ...] = ()
    files: tuple[Path, ...] = ()


def is_whole(folder: Path, wanted: Wanted) -> bool:
    """Whether `folder` holds that part, ended as it should. The files of states are looked for, not read."""
    attempt = folder / "attempt-1"
    try:
        record = msgspec.json.decode((attempt / "run.json").read_bytes(), type=Attempt)
    except (OSError, msgspec.MsgspecError):
        return False
    return (
        record.status in wanted.statuses
        and _plan(record.plan) == (wanted.seed, wanted.perturb or 0, wanted.stop, wanted.dense)
        and all((attempt / name).is_file() for name in wanted.files)
    )


def _plan(plan: dict[str, object]) -> tuple[object, ...]:
    dense = plan.get("dense")
    steps = tuple(dense) if isinstance(dense, list) else ()
    return (plan.get("seed") or "", plan.get("perturb") or 0, plan.get("stop") or 0, steps)


def last_step(traces: Sequence[Trace]) -> int:
    """Number of the last optimizer step of the longest training; 0 without any."""
    return max((len(segment.steps) for trace in traces for segment in trace.segments), default=0)


def first_other_weights(a: Sequence[Trace], b: Sequence[Trace]) -> int | None:
    """First step of a state that both recorded with other weights; None when all are equal in every bit."""
    x, y = _weights(a), _weights(b)
    return min((key[-1] for key in x.keys() & y.keys() if x[key] != y[key]), default=None)


def _weights(traces: Sequence[Trace]) -> dict[tuple[int, int, int], list[str]]:
    """Fingerprints of all weights, by process, training and step."""
    return {
        (process, training, shot.step): shot.weights
        for process, trace in enumerate(traces)
        for training, segment in enumerate(trace.segments)
        for shot in segment.snapshots
    }
