"""Counts what was compared of one signal, where it first differs, and by how much."""

import math
from dataclasses import dataclass, field

import numpy as np

from repro.model.columns import Array, Column
from repro.model.number import from_text
from repro.model.verdict import Signal

Sizes = tuple[float | None, float | None]
NO_SIZE: Sizes = (None, None)
Masks = tuple[Array, Array]
NOTHING: Masks = (np.zeros(1, np.bool_), np.zeros(1, np.bool_))


@dataclass
class Tally:
    """Grows while two traces are walked.

    Attributes:
        compared: values that both sides have. first: step of the first that differs.
        largest, relative: largest absolute and relative difference, where a size has a meaning.
        missing: for "a" and "b", how many values only the other side has.
        thinned: likewise, of those that the recorder left out on purpose.
    """

    compared: int = 0
    first: int | None = None
    largest: float | None = None
    relative: float | None = None
    missing: dict[str, int] = field(default_factory=dict)
    thinned: dict[str, int] = field(default_factory=dict)

    def see(self, step: int, equal: bool, sizes: Sizes = NO_SIZE, count: int = 1) -> None:
        """Take `count` values of one step that both sides have."""
        self.compared += count
        if equal:
            return
        self.first = step if self.first is None else min(self.first, step)
        self.largest = _larger(self.largest, sizes[0])
        self.relative = _larger(self.relative, sizes[1])

    def lacks(self, side: str, count: int = 1) -> None:
        """Take values that `side` does not have although the other one does."""
        if count:
            self.missing[side] = self.missing.get(side, 0) + count

    def leaves_out(self, side: str, count: int = 1) -> None:
        """Take values that the recorder of `side` left out on purpose, and the other one has."""
        if count:
            self.thinned[side] = self.thinned.get(side, 0) + count

    def see_columns(self, steps: Array, a: Column, b: Column, left_out: Masks = NOTHING) -> None:
        """Take one signal at many steps; `left_out` says for each side where it was absent on purpose."""
        both = a.known & b.known
        self.compared += int(np.count_nonzero(both))
        for side, has, other, excused in (("a", a, b, left_out[0]), ("b", b, a, left_out[1])):
            lacks = other.known & ~has.known
            self.lacks(side, int(np.count_nonzero(lacks & ~excused)))
            self.leaves_out(side, int(np.count_nonzero(lacks & excused)))
        differ = np.flatnonzero(both & (a.bits != b.bits))
        if len(differ):
            is_size = a.values.dtype == np.float64
            sizes = _largest(a.values[differ], b.values[differ]) if is_size else NO_SIZE
            self.see(int(steps[differ[0]]), False, sizes, 0)

    def see_numbers(self, step: int, a: str | None, b: str | None) -> None:
        """Take one number of each side, as float.hex() text; None is a missing one."""
        if a is None or b is None:
            if a != b:
                self.lacks("a" if a is None else "b")
        else:
            self.see(step, a == b, NO_SIZE if a == b else sizes_between(a, b))

    @property
    def differs(self) -> bool:
        """Whether a value was seen that differs."""
        return self.first is not None

    def absorb(self, other: "Tally", *, later: bool = False) -> None:
        """Add what was counted for another process, or for a later training, whose steps count anew."""
        first = self.first
        self.see(other.first or 0, not other.differs, (other.largest, other.relative), other.compared)
        if later and first is not None:
            self.first = first
        for mine, theirs in ((self.missing, other.missing), (self.thinned, other.thinned)):
            for side, count in theirs.items():
                mine[side] = mine.get(side, 0) + count

    def signal(self) -> Signal:
        """The record for the verdict."""
        return Signal(
            compared=self.compared,
            first_step=self.first,
            largest=self.largest,
            largest_relative=self.relative,
        )


def sizes_between(a: str, b: str) -> Sizes:
    """Absolute difference, and relative to the larger of the two; None where one is not finite."""
    x, y = number(a), number(b)
    if x is None or y is None or not math.isfinite(x - y):
        return NO_SIZE
    larger = max(abs(x), abs(y))
    return abs(x - y), abs(x - y) / larger if larger else 0.0


def _largest(x: Array, y: Array) -> Sizes:
    """As `sizes_between`, the largest of many."""
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(x - y)
    counts = np.isfinite(away)
    if not counts.any():
        return NO_SIZE
    away, larger = away[counts], np.maximum(np.abs(x[counts]), np.abs(y[counts]))
    relative = np.divide(away, larger, out=np.zeros_like(away), where=larger > 0)
    return float(away.max()), float(relative.max())


def number(text: str) -> float | None:
    """The float, or None when the text is none."""
    try:
        return from_text(text)
    except (ValueError, OverflowError):
        return None


def is_finite(text: str | None) -> bool:
    """Whether a float.hex() text is a finite number; a missing one counts as finite."""
    return text is None or "n" not in text


def _larger(a: float | None, b: float | None) -> float | None:
    return max((x for x in (a, b) if x is not None), default=None)
