"""Second question: is the result the same in the end? Stays modest: one run a side shows little."""

from collections.abc import Sequence

import numpy as np

from repro.compare.gate.declared import declared
from repro.compare.side import Side
from repro.compare.signals.measured import Measured
from repro.compare.signals.tally import is_finite, number
from repro.compare.signals.walk import Pair
from repro.model.verdict import MetricRow

_ONE_RUN = (
    "one run a side shows neither equivalence nor a real difference: the spread between repeated runs is "
    "unknown, and with it how many runs would settle it"
)
OFFER = (
    "no metric with a margin was declared, so no difference can be called small or large; a usual margin is "
    "one standard deviation between runs of the reference under several seeds, and it is never assumed"
)


def outcome(a: Side, b: Side, numerics: str, found: Measured) -> tuple[str, list[str]]:
    """One of `equivalent`, `diverged`, `inconclusive`, `untested`, and the sentences that say why."""
    if broken := _broken_on_one_side(found):
        return "diverged", broken
    whole = a.run.complete and b.run.complete
    if whole and not found.results.alone and (numerics == "identical" or _same_end(found)):
        return "equivalent", ["the final weights, and all results that were recorded, are equal in every bit"]
    margins = {name: margin for name, margin in declared(a, b).margins.items() if margin is not None}
    if not margins:
        return "untested", [OFFER]
    rows = {row.name: row for row in found.results.table if row.a and row.b}
    said = [
        f"the declared metric `{name}` was not recorded by both runs" for name in margins if name not in rows
    ]
    if said:
        return "untested", said
    return "inconclusive", [*(_beside_margin(rows[name], m) for name, m in margins.items()), _ONE_RUN]


def said_of_one_pair(rows: Sequence[MetricRow]) -> set[str]:
    """The sentences that hold for one run a side only, and fall where several are judged."""
    return {_ONE_RUN, OFFER, *(_beside_margin(row, row.margin) for row in rows if row.margin is not None)}


def _same_end(found: Measured) -> bool:
    return found.ends_equal() and not found.results.tally.differs


def _beside_margin(row: MetricRow, margin: float) -> str:
    difference = number(row.difference) or 0.0
    place = "inside" if abs(difference) <= margin else "outside"
    return f"`{row.name}` differs by {difference:.6g}, {place} the declared margin of {margin:g}"


def _broken_on_one_side(found: Measured) -> list[str]:
    said = [s for name, pair in found.pairs.items() for s in (_loss(name, pair), _weights(name, pair)) if s]
    return said + [
        f"metric `{row.name}` is {_side(is_finite(row.a))}"
        for row in found.results.table
        if row.a and row.b and is_finite(row.a) != is_finite(row.b)
    ]


def _loss(name: str, pair: Pair) -> str:
    (x, y), (skipped_x, skipped_y) = pair.column("loss"), pair.column("skipped")
    both = x.known & y.known & ~skipped_x.values & ~skipped_y.values
    broken = np.flatnonzero(both & (np.isfinite(x.values) != np.isfinite(y.values)))
    for place in broken[:1]:
        finite_in_a = bool(np.isfinite(x.values[place]))
        return f"{name}, step {int(pair.steps[place])}: the loss is {_side(finite_in_a)}"
    return ""


def _weights(name: str, pair: Pair) -> str:
    for step in pair.snapshots:
        x, y = pair.shots(step)
        if bool(x.nonfinite) != bool(y.nonfinite):
            return f"{name}, step {step}: a weight is {_side(not x.nonfinite)}"
    return ""


def _side(finite_in_a: bool) -> str:
    good, bad = ("a", "b") if finite_in_a else ("b", "a")
    return f"NaN or infinite in {bad} and finite in {good}"
