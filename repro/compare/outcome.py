"""Second question: is the result the same in the end? Stays modest: one run a side shows little."""

from repro.compare.evalrows import declared
from repro.compare.measured import Measured
from repro.compare.side import Side
from repro.compare.signals import Pair
from repro.compare.tally import is_finite, number
from repro.model.verdict import MetricRow

_ONE_RUN = (
    "one run a side shows neither equivalence nor a real difference: the spread between repeated runs is "
    "unknown, and with it how many runs would settle it"
)


def outcome(a: Side, b: Side, numerics: str, found: Measured) -> tuple[str, list[str]]:
    """One of `equivalent`, `diverged`, `inconclusive`, `untested`, and the sentences that say why."""
    if broken := _broken_on_one_side(found):
        return "diverged", broken
    whole = a.run.complete and b.run.complete
    if whole and not found.results.alone and (numerics == "identical" or _same_end(found)):
        return "equivalent", ["the final weights, and all results that were recorded, are equal in every bit"]
    name, margin = declared(a, b)
    if not name or margin is None:
        return "untested", [
            "no metric with a margin was declared, so no difference can be called small or large"
        ]
    row = next((row for row in found.results.table if row.name == name), None)
    if row is None or not row.a or not row.b:
        return "untested", [f"the declared metric `{name}` was not recorded by both runs"]
    return "inconclusive", _beside_margin(row, margin)


def _same_end(found: Measured) -> bool:
    return found.ends_equal() and not found.results.tally.differs


def _beside_margin(row: MetricRow, margin: float) -> list[str]:
    difference = number(row.difference) or 0.0
    place = "inside" if abs(difference) <= margin else "outside"
    return [
        f"`{row.name}` differs by {difference:.6g}, {place} the declared margin of {margin:g}",
        _ONE_RUN,
    ]


def _broken_on_one_side(found: Measured) -> list[str]:
    said = [s for name, pair in found.pairs.items() for s in (_loss(name, pair), _weights(name, pair)) if s]
    return said + [
        f"metric `{row.name}` is {_side(is_finite(row.a))}"
        for row in found.results.table
        if row.a and row.b and is_finite(row.a) != is_finite(row.b)
    ]


def _loss(name: str, pair: Pair) -> str:
    for step in pair.steps:
        x, y = pair.at(step)
        both = x.loss is not None and y.loss is not None and not x.skipped and not y.skipped
        if both and is_finite(x.loss) != is_finite(y.loss):
            return f"{name}, step {step}: the loss is {_side(is_finite(x.loss))}"
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
