"""Lays the steps of two traces side by side: by number, and by the state's fingerprint where one goes on.

A trace has one segment for each set of optimizers that stepped. A segment that begins where an
earlier one ended belongs to the same training; any other is a training of its own, compared with
the one in the same place on the other side.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest

from repro.model.record import Json
from repro.model.trace import Segment, StateSnapshot, Step, Trace


@dataclass
class Timeline:
    """One training of one process.

    Attributes:
        steps, snapshots: by step number; 0 is the state before the first step.
        begins: number that its first recorded state has on the count that both sides share.
        notes: how it was placed, as sentences without the side's name.
    """

    start: Json = field(default_factory=dict)
    steps: dict[int, Step] = field(default_factory=dict)
    snapshots: dict[int, StateSnapshot] = field(default_factory=dict)
    begins: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Number of the last recorded step; 0 without one."""
        return max(self.steps, default=0)


Place = tuple[Timeline | None, Timeline | None]


def aligned(a: Trace, b: Trace) -> list[Place]:
    """The trainings of two traces in order, pair by pair, each pair with one count of steps.

    Where one side has more trainings, those that begin at an earlier state of an earlier one are
    taken for its continuation after a resume. None stands for a training that only one side has.
    """
    x, y = trainings(a), trainings(b)
    if len(x) != len(y):
        x, y = _resumed(x), _resumed(y)
    places: list[Place] = list(zip_longest(x, y))
    for first, second in places:
        if first and second:
            _place(first, second)
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
            _add(line, segment, 0)
        else:
            _add(line, segment, line.last - (first.step if first else 0))
        if last and last.weights:
            ends[tuple(last.weights)] = line
    return [line for line in lines if line.steps or line.snapshots]


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
    steps = max((step.step for step in segment.steps), default=0)
    ended = bool(shots) and shots[-1].step == steps
    return (shots[0] if shots else None), (shots[-1] if ended else None)


def _add(line: Timeline, segment: Segment, shift: int) -> None:
    line.steps.update((step.step + shift, step) for step in segment.steps)
    for shot in segment.snapshots:
        line.snapshots.setdefault(shot.step + shift, shot)


def _resumed(lines: list[Timeline]) -> list[Timeline]:
    kept: list[Timeline] = []
    for number, line in enumerate(lines, 1):
        base, at = _continued(line, kept)
        if base is None:
            kept.append(line)
            continue
        base.notes.append(f"part {number} resumed at step {at}")
        base.steps = {n: step for n, step in base.steps.items() if n <= at}
        base.snapshots = {n: shot for n, shot in base.snapshots.items() if n <= at}
        _shift(line, at - line.begins)
        base.steps |= line.steps
        base.snapshots |= line.snapshots
    return kept


def _continued(line: Timeline, kept: list[Timeline]) -> tuple[Timeline | None, int]:
    first = line.snapshots.get(line.begins)
    for base in kept if first else ():
        at = _where(first, base.snapshots) if first else None
        if at == base.begins:
            line.notes.append("it starts from the same state as an earlier training")
        elif at is not None:
            return base, at
    return None, 0


def _place(x: Timeline, y: Timeline) -> None:
    """Shift the later of two trainings to where the other one has its first state."""
    first_x, first_y = x.snapshots.get(x.begins), y.snapshots.get(y.begins)
    if first_x is None or first_y is None or first_x.weights == first_y.weights:
        return
    at_x, at_y = _where(first_y, x.snapshots), _where(first_x, y.snapshots)
    if (at_x is None) == (at_y is None):  # nowhere, or ambiguous: both count from their own beginning
        return
    line, at = (y, at_x) if at_x is not None else (x, at_y)
    _shift(line, (at or 0) - line.begins)
    line.notes.append(f"its first state is the other run's state after step {at}: aligned there")


def _shift(line: Timeline, by: int) -> None:
    line.steps = {n + by: step for n, step in line.steps.items()}
    line.snapshots = {n + by: shot for n, shot in line.snapshots.items()}
    line.begins += by


def _where(wanted: StateSnapshot, among: dict[int, StateSnapshot]) -> int | None:
    """Earliest step with the same weights."""
    if not wanted.weights:
        return None
    return min((n for n, shot in among.items() if shot.weights == wanted.weights), default=None)
