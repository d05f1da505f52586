"""Lays the steps of two traces side by side: by number, and by the state's fingerprint where one goes on.

A trace has one segment for each set of optimizers that stepped. A segment that begins where an
earlier one ended belongs to the same training; any other is a training of its own, compared with
the one in the same place on the other side.
"""

from collections.abc import Iterable
from itertools import zip_longest

from repro.compare.lines.timeline import Joint, Timeline
from repro.compare.signals import resume
from repro.model.trace import Segment, StateSnapshot, Trace

__all__ = ["Place", "Timeline", "aligned", "by_part", "trainings"]

Place = tuple[Timeline | None, Timeline | None]


def aligned(a: Trace, b: Trace) -> list[Place]:
    """The trainings of two traces in order, pair by pair, each pair with one count of steps.

    Where the sides have other trainings, or trainings that go on from other states, those that begin at
    an earlier state of an earlier one are taken for its continuation after a resume. None stands for a
    training that only one side has.
    """
    x, y = trainings(a), trainings(b)
    if len(x) != len(y) or _origins(x) != _origins(y):
        x, y = _resumed(x), _resumed(y)
    places: list[Place] = list(zip_longest(x, y))
    for first, second in places:
        if first and second:
            _place(first, second)
        for line, other in ((first, second), (second, first)):
            if line:
                _tell_joints(line, other)
    return places


def trainings(trace: Trace) -> list[Timeline]:
    """The trainings of one process; segments that begin where an earlier one ended are joined to it."""
    lines: list[Timeline] = []
    ends: dict[tuple[str, ...], Timeline] = {}
    for segment in trace.segments:
        first, last = _edges(segment)
        line = ends.pop(tuple(first.weights), None) if first and first.weights else None
        if line is None:
            line = Timeline(start=segment.start, begins=first.step if first else 0)
            lines.append(line)
            line.add(segment, 0)
        else:
            line.add(segment, line.last - (first.step if first else 0))
        if last and last.weights:
            ends[tuple(last.weights)] = line
    return [line for line in lines if len(line.steps) or line.snapshots]


def by_part(traces: Iterable[Trace]) -> dict[str, Trace]:
    """Traces by a name for their process: the rank, and a count where processes share one."""
    found: dict[str, Trace] = {}
    for trace in traces:
        name, part = f"rank {trace.rank}", 1
        while name in found:
            part += 1
            name = f"rank {trace.rank}, process {part}"
        found[name] = trace
    return found


def _edges(segment: Segment) -> tuple[StateSnapshot | None, StateSnapshot | None]:
    """First state of a segment, and the state after its last step where that was recorded."""
    shots = sorted(segment.snapshots, key=lambda shot: shot.step)
    ended = bool(shots) and shots[-1].step == segment.steps.last
    return (shots[0] if shots else None), (shots[-1] if ended else None)


def _origins(lines: list[Timeline]) -> list[tuple[int, int] | None]:
    """For each training which earlier one it goes on from, and at which step."""
    found: list[tuple[int, int] | None] = []
    for number, line in enumerate(lines):
        base, at = _continued(line, lines[:number])
        found.append(None if base is None else (lines.index(base), at))
    return found


def _resumed(lines: list[Timeline]) -> list[Timeline]:
    kept: list[Timeline] = []
    for line in lines:
        base, at = _continued(line, kept)
        if base is None:
            line.notes += resume.unplaced(line, kept)
            kept.append(line)
            continue
        line.shift(at - line.begins)
        base.go_on(at, line)
    return kept


def _continued(line: Timeline, kept: list[Timeline]) -> tuple[Timeline | None, int]:
    first = line.first_state
    for base in kept if first else ():
        at = _where(first, base.snapshots) if first else None
        if at is not None and at != base.begins:
            return base, at
    return None, 0


def _place(x: Timeline, y: Timeline) -> None:
    """Shift the later of two trainings to where the other one has its first state."""
    first_x, first_y = x.first_state, y.first_state
    if first_x is None or first_y is None or first_x.weights == first_y.weights:
        return
    at_x, at_y = _where(first_y, x.snapshots), _where(first_x, y.snapshots)
    if (at_x is None) == (at_y is None):  # nowhere, or ambiguous: both count from their own beginning
        return
    line, at = (y, at_x) if at_x is not None else (x, at_y)
    line.shift((at or 0) - line.begins)
    line.notes.append(f"its first state is the other run's state after step {at}: aligned there")
    line.joints = [Joint(line.begins, line.first_state), *line.joints]


def _tell_joints(line: Timeline, other: Timeline | None) -> None:
    """Where the other one breaks off at the same state, the program does so by itself."""
    broken = {joint.step for joint in other.joints} if other else set()
    line.notes += [resume.told(line, joint, other) for joint in line.joints if joint.step not in broken]


def _where(wanted: StateSnapshot, among: dict[int, StateSnapshot]) -> int | None:
    """Earliest step with the same weights."""
    if not wanted.weights:
        return None
    return min((n for n, shot in among.items() if shot.weights == wanted.weights), default=None)
