"""Evaluations of both runs: whether rounding makes what differs there, with weights so far apart."""

from collections.abc import Iterable, Iterator

from repro.compare.lines.pair import Pair
from repro.compare.rounding.answer import BEYOND, UNTESTED, WITHIN, Answer
from repro.compare.rounding.envelope import Distances, distances
from repro.compare.rounding.unit import Unit, limit
from repro.compare.signals.measured import Measured
from repro.compare.signals.tally import sizes_between
from repro.compare.signals.walk import distance
from repro.model.trace import Evaluation

_BY = "by the a-priori bound of rounding"


def by_evaluations(pairs: Iterable[Pair], unit: Unit) -> Answer | None:
    """The answer of all evaluations that differ; None where none does, or none has a size."""
    answers = []
    for pair in pairs:
        apart = distances([pair])
        answers += [one for x, y in pair.evaluations() if (one := _one(x, y, apart, unit))]
    order = (BEYOND, UNTESTED, WITHIN)
    return min(answers, key=lambda answer: order.index(answer.word), default=None)


def by_results(found: Measured, unit: Unit) -> Answer | None:
    """The answer of final metrics alone, for runs with equal weights whose evaluations were not recorded."""
    rows = [row for row in found.results.table if row.a and row.b and row.name not in found.results.unjudged]
    sizes = {row.name: sizes_between(row.a, row.b)[1] or 0.0 for row in rows}
    name, size = max(sizes.items(), key=lambda item: item[1], default=("", 0.0))
    if size <= limit("beyond") * unit.step:
        return None
    said = f"the metric `{name}` differs by {size:.1e} although its weights are equal in every bit"
    return Answer(BEYOND, "bound", (f"{_BY}: {said}",))


def _one(x: Evaluation, y: Evaluation, apart: Distances, unit: Unit) -> Answer | None:
    if other := next(_otherwise(x, y), ""):
        return Answer(BEYOND, "bits", (f"the evaluation after step {x.step} {other}",))
    size = distance(x, y)
    if x.outputs == y.outputs or size is None:
        return None
    weights = _near(x.step, apart)
    explained = unit.step + limit("outputs") * weights
    said = (
        f"{_BY}: outputs of the evaluation after step {x.step} are {size:.1e} apart, {size / explained:.2g} "
        f"times what rounding in {unit.name} explains with weights {weights:.1e} apart"
    )
    if size > limit("beyond") * explained:
        return Answer(BEYOND, "bound", (said,))
    return Answer(WITHIN if size <= explained or weights else UNTESTED, "bound", (said,))


def _otherwise(x: Evaluation, y: Evaluation) -> Iterator[str]:
    if x.mode and y.mode and x.mode != y.mode:
        yield f"ran in mode `{x.mode}` in a and `{y.mode}` in b"
    if x.rows != y.rows:
        yield f"has {x.rows} examples in a and {y.rows} in b"


def _near(step: int, apart: Distances) -> float:
    """Distance of the weights at a step; where it was not sampled there, the larger of those around it."""
    if step in apart:
        return apart[step] or 0.0
    before = max((n for n in apart if n < step), default=None)
    after = min((n for n in apart if n > step), default=None)
    return max((apart[n] or 0.0 for n in (before, after) if n is not None), default=0.0)
