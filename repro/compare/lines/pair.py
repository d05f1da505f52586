"""Two trainings side by side: the steps and records that both have."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from repro.compare.lines.byname import laid_like
from repro.compare.lines.timeline import Timeline
from repro.model.columns import Array, Column
from repro.model.steps import RNG
from repro.model.trace import Evaluation, Gradients, ModuleCall, StateSnapshot, Step

Places = slice | Array
Dated = TypeVar("Dated", Evaluation, ModuleCall, Gradients)

# What a recorder that has thinned itself leaves out after the first steps: docs/formats.md, "Trace".
_SAMPLED = {"gn", "batch", "fwd"}
_LARGE = {"batch", "fwd"}
_ALWAYS = 16


@dataclass(frozen=True, eq=False)
class Pair:
    """Two timelines with the steps and snapshots that both have.

    Attributes:
        steps: numbers of the common steps, int64, ascending. snapshots: of the common snapshots.
        places: where the common steps stand in the columns of `a` and `b`.
        since: what belongs to this step or an earlier one is left out; -1 for nothing.
    """

    a: Timeline
    b: Timeline
    steps: Array
    snapshots: list[int]
    places: tuple[Places, Places]
    since: int = -1

    @classmethod
    def of(cls, a: Timeline, b: Timeline) -> "Pair":
        """Pair up two timelines of one rank."""
        b = laid_like(b, a)
        places = _common(a.steps.number, b.steps.number)
        shots = sorted(a.snapshots.keys() & b.snapshots.keys())
        return cls(a, b, a.steps.number[places[0]], shots, places)

    def after(self, step: int) -> "Pair":
        """The part of both that comes after a step."""
        cut = int(np.searchsorted(self.steps, step, side="right"))
        places = (_later(self.places[0], cut), _later(self.places[1], cut))
        shots = [n for n in self.snapshots if n > step]
        return replace(self, steps=self.steps[cut:], snapshots=shots, places=places, since=step)

    @property
    def same_length(self) -> bool:
        """Whether both sides have the same steps."""
        return np.array_equal(self.a.steps.number, self.b.steps.number)

    @property
    def last(self) -> int:
        """Number of the last state that both sides have."""
        return max([*self.steps[-1:].tolist(), *self.snapshots[-1:]], default=0)

    def at(self, step: int) -> tuple[Step, Step]:
        """The step of that number of both sides."""
        return self.a.steps.row(step), self.b.steps.row(step)

    def column(self, name: str) -> tuple[Column, Column]:
        """One signal of both sides at the common steps; see `Steps.column`."""
        x, y = self.places
        return self.a.steps.column(name).take(x), self.b.steps.column(name).take(y)

    def left_out(self, name: str) -> tuple[Array, Array]:
        """For each side at which common steps the signal is absent because the recorder took samples only."""
        x, y = self.column(name)
        return _left_out(self.a, name, x, self.steps), _left_out(self.b, name, y, self.steps)

    def shots(self, step: int) -> tuple[StateSnapshot, StateSnapshot]:
        """The snapshot of that number of both sides."""
        return self.a.snapshots[step], self.b.snapshots[step]

    def evaluations(self) -> list[tuple[Evaluation, Evaluation]]:
        """Evaluations that both sides made after the same step, in order."""
        x, y = _by_step(self.a.evaluations), _by_step(self.b.evaluations)
        steps = sorted(step for step in x.keys() & y.keys() if step > self.since)
        return [both for step in steps for both in zip(x[step], y[step], strict=False)]

    def lone_evaluations(self) -> dict[str, int]:
        """For "a" and "b", how many evaluations it lacks that the other side made after a common step."""
        low, high = max(self.a.begins, self.b.begins, self.since + 1), min(self.a.last, self.b.last)
        x, y = (
            Counter(e.step for e in line.evaluations if low <= e.step <= high) for line in (self.a, self.b)
        )
        return {"a": (y - x).total(), "b": (x - y).total()}

    def calls(self) -> dict[int, tuple[list[ModuleCall], list[ModuleCall]]]:
        """Module calls of both sides by number of the dense step."""
        x, y = _by_step(self.a.calls), _by_step(self.b.calls)
        return {step: (x[step], y[step]) for step in sorted(x.keys() & y.keys())}

    def gradients(self) -> dict[int, tuple[Gradients, Gradients]]:
        """Gradients of both sides by number of the dense step."""
        x, y = _by_step(self.a.gradients), _by_step(self.b.gradients)
        return {step: (x[step][-1], y[step][-1]) for step in sorted(x.keys() & y.keys())}


def _common(x: Array, y: Array) -> tuple[Places, Places]:
    """Places of the numbers that both arrays have; slices, which copy nothing, wherever that is possible."""
    if np.array_equal(x, y):
        return slice(None), slice(None)
    if _is_run(x) and _is_run(y):
        low, high = max(x[0], y[0]), min(x[-1], y[-1])
        length = max(0, high - low + 1)
        return slice(low - x[0], low - x[0] + length), slice(low - y[0], low - y[0] + length)
    _, first, second = np.intersect1d(x, y, assume_unique=True, return_indices=True)
    return first, second


def _later(places: Places, cut: int) -> Places:
    return slice((places.start or 0) + cut, places.stop) if isinstance(places, slice) else places[cut:]


def _is_run(number: Array) -> bool:
    return len(number) > 0 and int(number[-1] - number[0]) == len(number) - 1


def _left_out(line: Timeline, name: str, column: Column, steps: Array) -> Array:
    absent = ~column.known
    if name not in _SAMPLED and not name.startswith(RNG):
        return np.zeros_like(absent)
    if any(isinstance(x.get("stride"), int) for x in line.events if x.get("what") == "thinned"):
        return absent & (steps - line.begins > _ALWAYS)
    if name in _LARGE and line.steps.column(name).known.any():
        return absent & ~np.isin(steps, list(line.snapshots))
    return np.zeros_like(absent)


def _by_step(records: Iterable[Dated]) -> dict[int, list[Dated]]:
    found: dict[int, list[Dated]] = {}
    for record in records:
        found.setdefault(record.step, []).append(record)
    return found
