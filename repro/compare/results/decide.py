"""From the values of a metric over two groups of runs to a word, and why."""

import math
from dataclasses import dataclass

from repro.compare.chance import power, statistics
from repro.compare.chance.statistics import ALPHA, LEAST_FOR_EQUIVALENCE, Contrast
from repro.compare.results.samples import Sample
from repro.model.verdict import Statistic


@dataclass(frozen=True)
class Tested:
    """How a sample was tested.

    Attributes:
        test: `paired`, `Welch`, `prediction` (one side is a single run), or `none`.
        a, b: the values that were used; of pairs only those with a partner.
    """

    sample: Sample
    test: str
    a: list[float]
    b: list[float]
    contrast: Contrast | None
    correlation: float | None = None
    why_not_paired: str = ""

    @property
    def p(self) -> float | None:
        """Two-sided p of "there is no difference", not corrected; None when the spread is unknown."""
        return self.contrast.p_difference if self.contrast else None


def tested(sample: Sample) -> Tested:
    """The test that the numbers of runs and their correlation ask for; p plays no part in the choice."""
    a, b, resolution = sample.a, sample.b, sample.resolution
    x, y = [a[i] for i, _ in sample.pairs], [b[j] for _, j in sample.pairs]
    found = statistics.correlation(x, y)
    why = _why_not_paired(found, len(x), len(a), len(b))
    if not why:
        pairs = statistics.paired(x, y, resolution)
        if pairs.error:
            return Tested(sample, "paired", x, y, pairs, found)
        why = "all pairs differ by the same amount, so their spread is unknown"
    if min(len(a), len(b)) > 1:
        return Tested(sample, "Welch", a, b, statistics.welch(a, b, resolution), found, why)
    if len(a) + len(b) > 2:
        return Tested(sample, "prediction", a, b, statistics.pooled(a, b, resolution), found, why)
    return Tested(sample, "none", a, b, None)


def _why_not_paired(correlation: float | None, pairs: int, a: int, b: int) -> str:
    if not pairs:
        return "the seeds are not the same"
    if correlation is None:
        return f"no correlation is known over {pairs} seeds"
    least = least_correlation(pairs, a, b)
    if correlation > least:
        return ""
    return f"correlation {correlation:.2f} over {pairs} seeds, pairing is used above {least:.4g}"


def least_correlation(pairs: int, a: int, b: int) -> float:
    """Correlation above which runs are paired by seed.

    Fixed by the numbers of runs alone: it must be worth the degrees of freedom that pairing costs, and be
    more than chance gives unrelated runs (one-sided 1 %): 0.93 for 5, 0.79 for 8, 0.71 for 10 pairs. Without
    the second condition two unrelated groups of 3 to 10 runs a side are called different 6.4 to 6.8 % of the
    time, with it 3.8 to 5.0 % [simulated].
    """
    return max(power.worth_pairing(pairs, a, b), statistics.significant_correlation(pairs))


def decided(one: Tested, p: float | None, tests: int) -> tuple[Statistic, list[str]]:
    """The statistics of a metric with the word for it, and sentences.

    `p` is that of the difference, corrected over `tests` tests by Holm's method.
    """
    sample, contrast = one.sample, one.contrast
    word, why = _word(one, p)
    needed = _needed(one) if word == "inconclusive" else None
    low, high = (contrast and contrast.interval()) or (None, None)
    row = Statistic(
        metric=sample.metric,
        n=(len(one.a), len(one.b)),
        paired=one.test == "paired",
        correlation=one.correlation,
        mean=(statistics.mean(one.a), statistics.mean(one.b)),
        deviation=(statistics.deviation(one.a), statistics.deviation(one.b)),
        difference=statistics.mean(one.b) - statistics.mean(one.a),
        low=low,
        high=high,
        margin=sample.margin,
        p_difference=p,
        p_equivalence=_p_equivalence(one),
        predicted=statistics.predicted(sample.a, len(sample.b), sample.resolution),
        floor=sample.floor,
        needed=needed,
        outcome=word,
    )
    return row, [f"`{sample.metric}`: {said}" for said in [*why, *_choice(one, tests), *_more(row, one)]]


def _p_equivalence(one: Tested) -> float | None:
    """None, too, for fewer runs than equivalence needs, whatever their numbers are."""
    if (
        one.contrast is None
        or one.sample.margin is None
        or min(len(one.a), len(one.b)) < LEAST_FOR_EQUIVALENCE
    ):
        return None
    return one.contrast.p_equivalence(one.sample.margin)


def _word(one: Tested, p: float | None) -> tuple[str, list[str]]:
    margin, contrast = one.sample.margin, one.contrast
    if margin is None:
        return "untested", [_offer(one)]
    if contrast is None:
        return "inconclusive", ["one run a side shows neither equivalence nor a real difference"]
    if p is None:
        return "inconclusive", ["nothing varied from run to run: the spread is unknown"]
    equal = (contrast.p_equivalence(margin) or 0.0) <= ALPHA
    return _both_tests(one, p <= ALPHA, equal)


def _both_tests(one: Tested, differs: bool, equal: bool) -> tuple[str, list[str]]:
    fewest = min(len(one.a), len(one.b))
    if differs and not equal:
        return "diverged", [f"the difference is real and not shown to be inside the margin of {_margin(one)}"]
    if fewest == 1:
        return "inconclusive", [_single(one, differs)]
    if fewest < LEAST_FOR_EQUIVALENCE:
        return "inconclusive", [f"equivalence needs at least {LEAST_FOR_EQUIVALENCE} runs a side"]
    if equal:
        word = "different-but-equivalent" if differs else "equivalent"
        return word, [f"the 90 % interval of the difference lies inside the margin of {_margin(one)}"]
    return "inconclusive", [
        f"no difference is shown, but it is not shown to be smaller than the margin of {_margin(one)}"
    ]


def _single(one: Tested, differs: bool) -> str:
    runs = max(len(one.a), len(one.b))
    if differs:
        return f"outside of what {runs} runs predict, yet by less than the margin of {_margin(one)}"
    return f"inside of what {runs} runs predict; one run cannot show equivalence"


def _margin(one: Tested) -> str:
    return f"{one.sample.margin:g}"


def _offer(one: Tested) -> str:
    """A margin to start from, said and never assumed."""
    spread = statistics.deviation(one.sample.a)
    if not spread:
        return "no margin was declared, so no difference can be called small or large"
    return (
        f"no margin was declared; one standard deviation of the reference's {len(one.sample.a)} runs is "
        f"{spread:.3g}: declare it before the next run if that is the smallest difference that matters"
    )


def _choice(one: Tested, tests: int) -> list[str]:
    over = f", Holm over {tests} tests" if tests > 1 else ""
    if one.test == "paired":
        return [f"paired by seed over {len(one.a)} seeds, correlation {one.correlation:.2f}{over}"]
    if one.test == "Welch":
        return [f"Welch's test{over}; not paired by seed: {one.why_not_paired}"]
    return []


def _more(row: Statistic, one: Tested) -> list[str]:
    if row.outcome != "inconclusive" or one.contrast is None or not row.margin:
        return []
    if row.needed is not None or not one.contrast.error:
        return []
    return [
        "so many runs settle it four times in five, and this time they do not: it takes more"
        if _planned(one) is not None
        else f"more than {power.MOST} runs a side would be needed at this margin"
    ]


def _needed(one: Tested) -> int | None:
    planned = _planned(one)
    return planned if planned is not None and planned > min(len(one.a), len(one.b)) else None


def _planned(one: Tested) -> int | None:
    if one.contrast is None or one.sample.margin is None:
        return None
    if one.test == "paired":
        spread = one.contrast.error * math.sqrt(len(one.a))
        return power.runs_needed(spread, len(one.a) - 1, one.sample.margin, pairs=True)
    both = statistics.pooled(one.a, one.b, one.sample.resolution)
    spread = both.error / math.sqrt(1 / len(one.a) + 1 / len(one.b))
    return power.runs_needed(spread, both.freedom, one.sample.margin, pairs=False)
