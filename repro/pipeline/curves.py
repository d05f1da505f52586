"""Takes from two runs, and from the noise members of the first, what a report draws."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from repro.compare import Side
from repro.compare.lines.pair import Pair
from repro.compare.signals.align import aligned, by_part
from repro.compare.signals.walk import distance
from repro.model.columns import Array, Column
from repro.model.curves import Curves, Line, Usage
from repro.model.number import from_text
from repro.model.run import RunFolder
from repro.pipeline.compare import reference_for, side
from repro.trace import read_run

MOST_POINTS = 400  # a drawing is about as many pixels wide


def curves_of(a: Path, b: Path) -> Curves:
    """Curves of two run folders, with the noise members that the bundle around `a` has for it.

    Raises:
        run-unreadable, trace-damaged, trace-too-new: a run cannot be read.
    """
    one, other = side(a), side(b)
    known = reference_for(a, one)
    return curves(one, other, [side(path) for path in known.members] if known else [])


def usage_of(a: Path, b: Path) -> Curves:
    """What two runs took, without a curve: their traces are not read.

    Raises:
        run-unreadable: a run cannot be read.
    """
    return Curves(usage=(_usage(Side(read_run(a))), _usage(Side(read_run(b)))))


def curves(a: Side, b: Side, members: Sequence[Side] = ()) -> Curves:
    """Curves of the process and training that has most steps in common, and what both runs took in all."""
    usage = (_usage(a), _usage(b))
    found = _pairs(a, b)
    if not found:
        return Curves(usage=usage)
    part, pair = max(found, key=lambda named: len(named[1].steps))
    return Curves(
        part=part if len(found) > 1 else "",
        loss=_both(pair, "loss"),
        gap=_gap(pair),
        distance=_distance(pair),
        members=_members(a, members, part),
        step_seconds=_both(pair, "dt"),
        usage=usage,
    )


def thinned(steps: Array, values: Array, *, log: bool = False) -> Line:
    """Smallest and largest finite value in each of at most MOST_POINTS stretches of steps.

    The stretches have one width, or with `log` one width on a scale of log(1 + step).
    """
    finite = np.isfinite(values)
    broken = int(steps[np.argmin(finite)]) if not finite.all() else None
    kept, numbers = values[finite], steps[finite]
    if not len(kept):
        return Line(count=len(values), broken=broken)
    starts = np.unique(np.searchsorted(numbers, _edges(numbers[0], numbers[-1], log=log)))
    return Line(
        steps=numbers[starts].tolist(),
        low=np.minimum.reduceat(kept, starts).tolist(),
        high=np.maximum.reduceat(kept, starts).tolist(),
        count=len(values),
        broken=broken,
    )


def _edges(first: float, last: float, *, log: bool) -> Array:
    if log:
        spaced: Array = np.geomspace(first + 1, last + 1, MOST_POINTS) - 1
        return np.minimum(spaced.round(6), last)
    return np.linspace(first, last, MOST_POINTS)


def _pairs(a: Side, b: Side) -> list[tuple[str, Pair]]:
    """What can be laid side by side, with a name."""
    x, y = by_part(a.traces), by_part(b.traces)
    return [
        (f"{name}, training {number}", Pair.of(first, second))
        for name in sorted(x.keys() & y.keys())
        for number, (first, second) in enumerate(aligned(x[name], y[name]), 1)
        if first is not None and second is not None
    ]


def _both(pair: Pair, name: str) -> tuple[Line, Line]:
    """A signal of both sides over all the steps that each has."""
    lines = [_line(steps.number, steps.column(name)) for steps in (pair.a.steps, pair.b.steps)]
    return lines[0], lines[1]


def _line(number: Array, column: Column) -> Line:
    return thinned(number[column.known], column.values[column.known])


def _gap(pair: Pair) -> Line:
    x, y = pair.column("loss")
    known = x.known & y.known
    first, second = x.values[known], y.values[known]
    larger = np.maximum(np.abs(first), np.abs(second))
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(second - first) / np.where(larger > 0, larger, 1.0)
    return thinned(pair.steps[known], away, log=True)


def _distance(pair: Pair) -> Line:
    found = [(step, distance(*pair.shots(step))) for step in pair.snapshots]
    known = [(step, value) for step, value in found if value is not None]
    return thinned(np.array([s for s, _ in known], np.int64), np.array([v for _, v in known]), log=True)


def _members(a: Side, members: Sequence[Side], part: str) -> list[Line]:
    found = [pair for member in members for name, pair in _pairs(a, member) if name == part]
    return [line for line in map(_distance, found) if line.steps]


def _usage(read: Side) -> Usage:
    run, memory = read.run, read.run.memory
    segments = [segment for trace in read.traces for segment in trace.segments]
    times = [column.values[column.known] for s in segments for column in [s.steps.column("dt")]]
    spent = np.concatenate(times) if times else np.empty(0)
    spent = spent[np.isfinite(spent)]
    return Usage(
        steps=_steps(read),
        seconds=_seconds(run),
        step_seconds=float(np.median(spent)) if len(spent) else None,
        share=_share(run),
        host_bytes=memory.host_bytes if memory else None,
        allocated_bytes=memory.allocated_bytes if memory else None,
        reserved_bytes=memory.reserved_bytes if memory else None,
    )


def _steps(read: Side) -> int | None:
    counted = read.run.attempt.recorder.get("steps")
    traced = [sum(len(segment.steps) for segment in trace.segments) for trace in read.traces]
    return max(traced) if traced else counted if isinstance(counted, int) else None


def _seconds(run: RunFolder) -> float | None:
    attempt = run.attempt
    return (
        from_text(attempt.ended) - from_text(attempt.started) if attempt.started and attempt.ended else None
    )


def _share(run: RunFolder) -> float | None:
    share = run.attempt.recorder.get("share")
    return from_text(share) if isinstance(share, str) else None
