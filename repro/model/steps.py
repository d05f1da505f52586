"""The optimizer steps of a trace as columns: a million of them fit, and are compared in one go.

Steps count from 1. A row is made only on request.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from repro.model import columns
from repro.model.columns import Array, Column
from repro.model.number import to_text
from repro.model.rates import Rates
from repro.model.record import Open

FLOATS = ("loss", "gn", "dt")
DIGESTS = ("idx", "batch", "fwd")
COUNTS = ("opt", "nb")
RNG = "rng."


class Step(Open, kw_only=True):
    """One optimizer step.

    Attributes:
        opt: number of the optimizer, in order of creation.
        loss: sum of the values `backward` was called on since the last step, unscaled.
        nb: number of backward calls (micro-batches).
        gn: norm over parameters of the gradients, read after the step.
        lr: learning rate of each parameter group, absent when as at the step before.
        idx: running hash of the sample stream consumed so far, 16 hex digits.
        batch: fingerprint of the tensors of the batches of this step, micro-batches laid one after another.
        fwd: fingerprint of what the outermost modules gave back in training, laid out in the same way.
        rng: digests of the generators' states: torch, python, numpy.
        dt: seconds since the step before.
    """

    step: int
    opt: int = 0
    loss: str | None = None
    nb: int = 0
    gn: str | None = None
    lr: list[str] | None = None
    idx: str | None = None
    batch: str | None = None
    fwd: str | None = None
    rng: dict[str, str] = {}
    skipped: bool = False
    dt: str | None = None


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps in ascending order of their numbers.

    Attributes:
        number: int64. lr: learning rates at the steps that name them.
        columns: by name: loss, gn, dt (float64); idx, batch, fwd and rng.NAME for each generator
            (uint64); opt, nb (int64); skipped (bool).
    """

    number: Array
    columns: Mapping[str, Column]
    lr: Rates

    @classmethod
    def empty(cls) -> "Steps":
        """No steps."""
        return cls.of([])

    @classmethod
    def of(cls, rows: Sequence[Step]) -> "Steps":
        """The steps of these records.

        Raises:
            ValueError, OverflowError: a number is none, or does not fit into 64 bits.
        """
        found = {name: columns.floats(_values(rows, name)) for name in FLOATS}
        found |= {name: columns.digests(_values(rows, name)) for name in DIGESTS}
        states: list[dict[str, str]] = _values(rows, "rng")
        for name in sorted(set().union(*states)):
            found[RNG + name] = columns.digests([state.get(name) for state in states])
        found = {name: column for name, column in found.items() if column.known.any()}
        for name in COUNTS:
            found[name] = columns.whole(np.array(_values(rows, name), np.int64))
        found["skipped"] = columns.whole(np.array(_values(rows, "skipped"), np.bool_))
        return cls(np.array(_values(rows, "step"), np.int64), found, Rates.of(_values(rows, "lr")))

    @classmethod
    def joined(cls, parts: Sequence["Steps"]) -> "Steps":
        """The steps of all parts, one after another."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.empty()
        names = dict.fromkeys(name for part in parts for name in part.columns)
        return cls(
            np.concatenate([part.number for part in parts]),
            {name: columns.joined([part.column(name) for part in parts]) for name in names},
            Rates.joined([part.lr for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.number)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int | np.integer) and self._place(int(number)) is not None

    @property
    def first(self) -> int:
        """Number of the first step; 0 when empty."""
        return int(self.number[0]) if len(self) else 0

    @property
    def last(self) -> int:
        """Number of the last step; 0 when empty."""
        return int(self.number[-1]) if len(self) else 0

    def column(self, name: str) -> Column:
        """The signal of that name; one that no step has when it was not recorded at all."""
        found = self.columns.get(name)
        return columns.absent(len(self)) if found is None else found

    def generators(self) -> list[str]:
        """Names of the random generators whose states were recorded, such as `torch`."""
        return sorted(
            name.removeprefix(RNG)
            for name, column in self.columns.items()
            if name.startswith(RNG) and column.known.any()
        )

    def row(self, number: int) -> Step:
        """The step of that number as a record.

        Raises:
            KeyError: there is none.
        """
        place = self._place(number)
        if place is None:
            raise KeyError(number)
        return self._record(place)

    def rows(self) -> Iterator[Step]:
        """All steps as records, one by one."""
        return map(self._record, range(len(self)))

    def part(self, start: int, stop: int) -> "Steps":
        """The steps numbered from `start` to below `stop`; nothing is copied."""
        low, high = (int(place) for place in np.searchsorted(self.number, (start, stop)))
        return self.between(low, max(low, high))

    def between(self, low: int, high: int) -> "Steps":
        """The steps at the places from `low` to below `high`; nothing is copied."""
        found = {name: column.take(slice(low, high)) for name, column in self.columns.items()}
        return Steps(self.number[low:high], found, self.lr.part(low, high))

    def shifted(self, by: int) -> "Steps":
        """The same steps under numbers larger by `by`."""
        return Steps(self.number + by, self.columns, self.lr) if by else self

    def _place(self, number: int) -> int | None:
        place = int(np.searchsorted(self.number, number))
        return place if place < len(self) and self.number[place] == number else None

    def _record(self, place: int) -> Step:
        def value(name: str, form: Callable[[Array], str]) -> str | None:
            column = self.column(name)
            return form(column.values[place]) if column.known[place] else None

        rng = {name: value(RNG + name, _digest_text) for name in self.generators()}
        return Step(
            step=int(self.number[place]),
            opt=int(self.column("opt").values[place]),
            nb=int(self.column("nb").values[place]),
            skipped=bool(self.column("skipped").values[place]),
            lr=self.lr.at(place),
            rng={name: text for name, text in rng.items() if text is not None},
            **{name: value(name, _float_text) for name in FLOATS},
            **{name: value(name, _digest_text) for name in DIGESTS},
        )


def _values(rows: Sequence[Step], name: str) -> list[Any]:
    return list(map(attrgetter(name), rows))


def _float_text(value: Array) -> str:
    return to_text(float(value))


def _digest_text(value: Array) -> str:
    return f"{int(value):016x}"
