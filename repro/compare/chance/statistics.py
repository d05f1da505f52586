"""Tests on the final numbers of several runs: difference, equivalence, prediction, pairing.

Plain functions of arrays. The method and its reasons: divergence.md 3.4. SciPy is imported at the first
call, so that commands which judge nothing start without it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALPHA = 0.05
CHANCE = 0.01
LEAST_FOR_EQUIVALENCE = 3  # runs a side


@dataclass(frozen=True)
class Contrast:
    """An estimated difference of two means.

    Attributes:
        difference: mean of b minus mean of a. error: its standard error, 0 when nothing varied.
        freedom: degrees of freedom of the error.
    """

    difference: float
    error: float
    freedom: float

    def interval(self, level: float = 1 - 2 * ALPHA) -> tuple[float, float] | None:
        """Confidence interval of the difference; None when its error is unknown."""
        if not self.error:
            return None
        half = quantile(self.freedom, (1 + level) / 2) * self.error
        return self.difference - half, self.difference + half

    @property
    def p_difference(self) -> float | None:
        """Two-sided p of "there is no difference"; None when the error is unknown."""
        return 2 * tail(self.freedom, abs(self.difference) / self.error) if self.error else None

    def p_equivalence(self, margin: float) -> float | None:
        """The larger p of the two one-sided tests (TOST) of "the difference is as large as the margin"."""
        if not self.error:
            return None
        return tail(self.freedom, (margin - abs(self.difference)) / self.error)


def welch(a: Sequence[float], b: Sequence[float], resolution: float = 0.0) -> Contrast:
    """Difference of two groups whose spreads may differ (Welch), each of 2 values or more.

    `resolution` is the step between values that the metric can take, 0 when it has none.
    """
    u, v = variance(a, resolution) / len(a), variance(b, resolution) / len(b)
    down = u * u / (len(a) - 1) + v * v / (len(b) - 1)
    freedom = (u + v) ** 2 / down if down else len(a) + len(b) - 2
    return Contrast(mean(b) - mean(a), math.sqrt(u + v), freedom)


def pooled(a: Sequence[float], b: Sequence[float], resolution: float = 0.0) -> Contrast:
    """Difference of two groups of one spread (Student); one of them may be a single run."""
    freedom = len(a) + len(b) - 2
    spread = sum((len(x) - 1) * variance(x, resolution) for x in (a, b) if len(x) > 1) / freedom
    return Contrast(mean(b) - mean(a), math.sqrt(spread * (1 / len(a) + 1 / len(b))), freedom)


def paired(a: Sequence[float], b: Sequence[float], resolution: float = 0.0) -> Contrast:
    """Difference of runs that belong together one by one."""
    moved = [y - x for x, y in zip(a, b, strict=True)]
    # A difference of two rounded values carries the rounding of both.
    spread = variance(moved, resolution * math.sqrt(2))
    return Contrast(mean(moved), math.sqrt(spread / len(moved)), len(moved) - 1)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, summed without rounding errors."""
    return math.fsum(values) / len(values)


def variance(values: Sequence[float], resolution: float = 0.0) -> float:
    """Sample variance, of 2 values or more.

    Never below that of rounding to `resolution` (its square over 12): runs that fall on the same step
    by chance do not show that there is no spread.
    """
    middle = mean(values)
    found = math.fsum((x - middle) ** 2 for x in values) / (len(values) - 1)
    # What is left by the rounding of equal numbers is no spread.
    noise = (8 * np.finfo(float).eps * max(map(abs, values))) ** 2
    return max(found if found > noise else 0.0, resolution**2 / 12)


def deviation(values: Sequence[float]) -> float | None:
    """Sample standard deviation; None for a single value."""
    return math.sqrt(variance(values)) if len(values) > 1 else None


def predicted(a: Sequence[float], new: int, resolution: float = 0.0) -> tuple[float, float] | None:
    """95 % prediction interval of the runs `a` for the mean of `new` further ones; None without spread."""
    spread = math.sqrt(variance(a, resolution)) if len(a) > 1 else 0.0
    if not spread:
        return None
    half = half_width(len(a), new) * spread
    return mean(a) - half, mean(a) + half


def half_width(runs: int, new: int) -> float:
    """Half-width of that interval in sample standard deviations of `runs` runs."""
    return quantile(runs - 1, 1 - ALPHA / 2) * math.sqrt(1 / new + 1 / runs)


def correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pearson's correlation of pairs; None below 3 of them, or when one side does not vary."""
    if len(a) < 3 or not variance(a) or not variance(b):
        return None
    x, y = np.asarray(a) - mean(a), np.asarray(b) - mean(b)
    return float(np.clip(x @ y / math.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def significant_correlation(pairs: int) -> float:
    """The correlation that unrelated pairs exceed, on one side, with probability CHANCE."""
    t = quantile(pairs - 2, 1 - CHANCE)
    return t / math.sqrt(pairs - 2 + t * t)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Corrected for their number, step by step (Holm 1979); an unknown one stays and does not count."""
    known = sorted((value, place) for place, value in enumerate(p) if value is not None)
    found: list[float | None] = list(p)
    largest = 0.0
    for rank, (value, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * value))
        found[place] = largest
    return found


def trimmed(values: Sequence[float]) -> list[float]:
    """The values without the lowest and the highest, which MLPerf drops; all of them below 10 runs."""
    ordered = sorted(values)
    return ordered[1:-1] if len(ordered) >= 10 else ordered


def finite_set_floor(share: float, examples: int) -> float:
    """Standard deviation of an accuracy `share` from drawing that many examples: sqrt(p (1 - p) / N)."""
    return math.sqrt(max(share * (1 - share), 0.0) / examples)


def sign_test(b: int, c: int) -> float:
    """McNemar's exact p: two-sided binomial of b against c discordant examples."""
    from scipy.special import bdtr

    total, fewer = b + c, min(b, c)
    return min(1.0, 2 * float(bdtr(fewer, total, 0.5))) if total else 1.0


def tail(freedom: float, t: float) -> float:
    """P(T > t) of Student's distribution."""
    from scipy.special import stdtr

    return float(stdtr(freedom, -t))


def quantile(freedom: float, probability: float) -> float:
    """The t below which Student's distribution has that probability."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))
