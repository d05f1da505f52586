"""How soon runs reach a declared value: MLPerf's reference-convergence rule, made two-sided.

MLPerf (training_rules, RCP checker) compares mean epochs to target by a two-sample t-test with equal
variances at p = 0.05 after dropping the best and the worst run, and rejects only what is too fast. Here too
slow counts as well, runs are dropped only from 10 on, and those that never reach the target are told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from repro.compare.chance import statistics
from repro.compare.chance.statistics import Contrast
from repro.compare.gate.declared import Declared
from repro.compare.results.samples import Group
from repro.compare.side import Side
from repro.compare.signals.tally import number
from repro.model.verdict import Statistic


@dataclass(frozen=True)
class Reach:
    """For both sides the evaluations until the target, counted from 1, of the runs that reach it.

    Attributes:
        missed: runs of each side that never reach it.
        contrast: None where too few reach it.
        said: why there is nothing to compare.
    """

    name: str = ""
    a: Sequence[int] = ()
    b: Sequence[int] = ()
    missed: tuple[int, int] = (0, 0)
    contrast: Contrast | None = None
    said: str = ""

    @property
    def p(self) -> float | None:
        """Two-sided p of "b gets there as soon as a", not corrected."""
        return self.contrast.p_difference if self.contrast else None


def reach(declared: Declared, a: Group, b: Group) -> Reach:
    """What both groups needed; without a declared target nothing."""
    if declared.target is None or not declared.metric:
        return Reach()
    name = f"evaluations until `{declared.metric}` is {declared.target:g}"
    found = [[_reached(side, declared) for side in group] for group in (a, b)]
    if any(0 in counts for counts in found):
        return Reach(name, said=f"{name}: not every run printed the metric as it trained (`eval.log`)")
    x, y = ([count for count in counts if count is not None] for counts in found)
    missed = len(a) - len(x), len(b) - len(y)
    return Reach(name, x, y, missed, _contrast(x, y))


def decided(reach: Reach, p: float | None) -> tuple[str, list[Statistic], list[str]]:
    """`diverged` or an empty word, the row where there is one, and sentences; `p` is the corrected one.

    A target has no margin, so no difference shown is `inconclusive` in the row and decides nothing.
    """
    said = [reach.said] if reach.said else []
    said += [
        f"{reach.name}: never, in {count} of {count + len(reached)} runs of {side}"
        for side, count, reached in zip("ab", reach.missed, (reach.a, reach.b), strict=True)
        if count
    ]
    missed = reach.missed[1] > 0 and not reach.missed[0]
    if missed:
        said.append("every run of a reached it")
    differs = p is not None and p <= statistics.ALPHA
    if differs and reach.contrast:
        when = "later" if reach.contrast.difference > 0 else "sooner"
        said.append(f"{reach.name}: b gets there {when} (p = {p:.2g})")
    word = "diverged" if missed or differs else ""
    return word, [_row(reach, word or "inconclusive", p)] if reach.a and reach.b else [], said


def _contrast(x: Sequence[int], y: Sequence[int]) -> Contrast | None:
    if not x or not y or len(x) + len(y) < 3:
        return None
    return statistics.pooled(statistics.trimmed(x), statistics.trimmed(y), resolution=1.0)


def _row(reach: Reach, word: str, p: float | None) -> Statistic:
    contrast = reach.contrast
    low, high = (contrast and contrast.interval()) or (None, None)
    return Statistic(
        metric=reach.name,
        n=(len(reach.a), len(reach.b)),
        mean=(statistics.mean(reach.a), statistics.mean(reach.b)),
        deviation=(statistics.deviation(reach.a), statistics.deviation(reach.b)),
        difference=statistics.mean(reach.b) - statistics.mean(reach.a),
        low=low,
        high=high,
        p_difference=p,
        outcome=word,
    )


def _reached(side: Side, declared: Declared) -> int | None:
    """Number of the first evaluation at the target, from 1; None when it never was, 0 without any."""
    values = [number(text) for text in side.run.history.get(declared.metric, [])]
    if not values:
        return 0
    there = (n for n, value in enumerate(values, 1) if value is not None and _is_there(value, declared))
    return next(there, None)


def _is_there(value: float, declared: Declared) -> bool:
    target = declared.target or 0.0
    return value >= target if declared.higher else value <= target
