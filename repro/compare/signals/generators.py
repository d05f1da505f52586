"""States of the random generators of both sides, step by step."""

from repro.compare.lines.pair import Pair
from repro.compare.signals.tally import Tally
from repro.model.columns import Column
from repro.model.steps import RNG

# Without a seed they take fresh entropy (Python documentation, random.seed; NumPy, RandomState).
_SEEDED_BY_THE_SYSTEM = {"python", "numpy"}


def walk(pair: Pair) -> Tally:
    """What both sides recorded of generators that tell something about the run."""
    tally = Tally()
    for name in sorted(_recorded(pair) - set(unused_generators(pair))):
        tally.see_columns(pair.steps, *pair.column(RNG + name), pair.left_out(RNG + name))
    return tally


def unused_generators(pair: Pair) -> list[str]:
    """Generators that start anew in each process, differ, and were drawn from by no common step.

    Their state says nothing about the run then. Those of torch start from a fixed seed, so that a
    difference is always one.
    """
    return [name for name in sorted(_recorded(pair) & _SEEDED_BY_THE_SYSTEM) if _is_unused(pair, name)]


def _recorded(pair: Pair) -> set[str]:
    """Names of the generators whose states both sides recorded at a common step."""
    names = set(pair.a.steps.generators()) & set(pair.b.steps.generators())
    return {name for name in names if all(column.known.any() for column in pair.column(RNG + name))}


def _is_unused(pair: Pair, name: str) -> bool:
    states = [_states(column) for column in pair.column(RNG + name)]
    return all(len(seen) == 1 for seen in states) and states[0] != states[1]


def _states(column: Column) -> list[int]:
    """The different states; of many, the first two."""
    seen = column.values[column.known]
    other = seen[seen != seen[0]]
    return [int(value) for value in (*seen[:1], *other[:1])]
