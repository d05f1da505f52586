"""Calls of modules of one dense step, of two sides: which belong together, and in which order they ran."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from repro.compare.rounding.tolerance import same
from repro.model.trace import ModuleCall


@dataclass(frozen=True)
class Call:
    """One call on both sides.

    Attributes:
        inputs_equal, outputs_equal: all that went in, or came out, is equal in every bit.
        weights_equal: its own parameters and buffers are, by their fingerprint.
        inside: number of calls made inside it, at any depth; they stand right before it.
    """

    a: ModuleCall
    b: ModuleCall
    inputs_equal: bool
    weights_equal: bool
    outputs_equal: bool
    inside: int

    @property
    def equal(self) -> bool:
        """Whether nothing about it differs."""
        return self.inputs_equal and self.weights_equal and self.outputs_equal


@dataclass(frozen=True)
class Calls:
    """The calls that both sides made in a step, in the order in which they returned; what only one has."""

    both: Sequence[Call]
    alone: Sequence[str] = ()

    def before(self, place: int) -> Sequence[Call]:
        """Calls that had returned when the one at this place began."""
        return self.both[: place - self.both[place].inside]

    def within(self, place: int) -> Sequence[Call]:
        """Calls made inside the one at this place, at any depth."""
        return self.both[place - self.both[place].inside : place]


def paired(a: Sequence[ModuleCall], b: Sequence[ModuleCall]) -> Calls:
    """Calls of one step, paired by module name and by how many calls of that module came before."""
    x, y = _named(a), _named(b)
    alone = [f"`{name or '(outermost)'}` was called only in a" for name, _ in x.keys() - y.keys()]
    alone += [f"`{name or '(outermost)'}` was called only in b" for name, _ in y.keys() - x.keys()]
    both: list[Call] = []
    for key, call in x.items():
        if key in y:
            both.append(_call(call, y[key], both))
    return Calls(both, sorted(set(alone)))


def _call(a: ModuleCall, b: ModuleCall, earlier: Sequence[Call]) -> Call:
    # Calls return like a stack: what began later and has returned already was made inside this one.
    inside = 0
    while inside < len(earlier) and earlier[-1 - inside].a.n > a.n:
        inside += 1
    return Call(a, b, same(a.inputs, b.inputs), a.weights == b.weights, same(a.outputs, b.outputs), inside)


def _named(calls: Iterable[ModuleCall]) -> dict[tuple[str, int], ModuleCall]:
    """By name and count in the order in which calls began; kept in the order of the records."""
    records = list(calls)
    counted: Counter[str] = Counter()
    number: dict[int, int] = {}
    for call in sorted(records, key=lambda one: one.n):
        number[call.n] = counted[call.module]
        counted[call.module] += 1
    return {(call.module, number[call.n]): call for call in records}
