"""Learning rates of many steps: kept only where a step names them, one number a parameter group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from repro.model.columns import Array, Column, floats, whole
from repro.model.number import to_text


@dataclass(frozen=True, eq=False)
class Rates:
    """Lists of learning rates, the list of places[i] being values[bounds[i]:bounds[i + 1]].

    Attributes:
        count: number of steps. places: int64, ascending, the steps (from 0) that name rates.
        bounds: int64, one more than places. values: float64, with one NaN.
    """

    count: int
    places: Array
    bounds: Array
    values: Array

    @classmethod
    def of(cls, rows: Sequence[list[str] | None]) -> "Rates":
        """From one list of float.hex() texts a step, or None where a step names none.

        Raises:
            ValueError, OverflowError: a text is no such number.
        """
        named = [(place, texts) for place, texts in enumerate(rows) if texts is not None]
        bounds = np.cumsum([0, *(len(texts) for _, texts in named)], dtype=np.int64)
        values = floats([text for _, texts in named for text in texts]).values
        return cls(len(rows), np.array([place for place, _ in named], np.int64), bounds, values)

    @classmethod
    def joined(cls, parts: Sequence["Rates"]) -> "Rates":
        """The lists of all parts, one after another."""
        steps = np.cumsum([0, *(part.count for part in parts)])
        sizes = np.cumsum([0, *(len(part.values) for part in parts)])
        ends = [part.bounds[1:] + size for part, size in zip(parts, sizes, strict=False)]
        return cls(
            int(steps[-1]),
            np.concatenate([part.places + step for part, step in zip(parts, steps, strict=False)]),
            np.concatenate([np.zeros(1, np.int64), *ends]),
            np.concatenate([part.values for part in parts]),
        )

    def part(self, start: int, stop: int) -> "Rates":
        """The steps at the places from `start` to below `stop`."""
        low, high = (int(place) for place in np.searchsorted(self.places, (start, stop)))
        bounds = self.bounds[low : high + 1]
        values = self.values[bounds[0] : bounds[-1]]
        return Rates(stop - start, self.places[low:high] - start, bounds - bounds[0], values)

    def at(self, place: int) -> list[str] | None:
        """The list that the step at this place names, as float.hex() texts; None when it names none."""
        row = int(np.searchsorted(self.places, place))
        if row == len(self.places) or self.places[row] != place:
            return None
        return [to_text(value) for value in self.values[self.bounds[row] : self.bounds[row + 1]]]

    def sizes(self, rows: Array) -> Array:
        """Number of parameter groups in these lists."""
        sizes: Array = np.diff(self.bounds)[rows]
        return sizes

    def group(self, place: int, rows: Array) -> Column:
        """The rate of the parameter group at this place in each of these lists, where it has one."""
        known = self.sizes(rows) > place
        if known.all():
            return whole(self.values[self.bounds[rows] + place])
        values = np.full(len(rows), np.nan)
        values[known] = self.values[self.bounds[rows[known]] + place]
        return Column(values, known)

    def in_force(self, group: Array) -> Array:
        """For each step the row of the list that holds then, -1 before the first one of its group.

        Args:
            group: int64, one a step: the optimizer that it belongs to, which has lists of its own.
        """
        named = np.zeros(self.count, np.bool_)
        named[self.places] = True
        if not (group[:1] != group).any():
            return np.cumsum(named) - 1
        found = np.full(self.count, -1, np.int64)
        for one in np.unique(group):
            mine = group == one
            rows = np.flatnonzero(mine[self.places])
            # How many lists the group has named up to each step: the last of them holds.
            count = np.cumsum(named & mine)
            found = np.where(mine & (count > 0), np.append(rows, -1)[count - 1], found)
        return found
