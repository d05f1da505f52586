"""How many runs a side settle a question: power of the difference test and of TOST, by quadrature.

Instead of the non-central t distribution (whose TOST form has none in SciPy) the normal probability is
averaged over the distribution of the sample spread, which is exact up to the quadrature. "Error" is the true
standard error of the difference, "reach" a difference or a margin divided by it.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from repro.compare.chance.statistics import ALPHA, LEAST_FOR_EQUIVALENCE

POWER = 0.8
MOST = 10_000  # runs a side; beyond it there is no number worth saying
FAR = 128  # runs a side; from here on the t distributions are as good as normal, and runs go with the square

Array = npt.NDArray[np.float64]
# Thresholds of a test in units of the error, and the probability of each.
Thresholds = tuple[Array, Array]
Test = Callable[[int, float], Thresholds]
Chance = Callable[[Test, int, Array], Any]


def pooled_test(runs: int, alpha: float) -> Thresholds:
    """Thresholds of Student's test of two groups of `runs` runs, at one-sided `alpha`."""
    return _student(2 * runs - 2, alpha)


def paired_test(runs: int, alpha: float) -> Thresholds:
    """Thresholds of the paired test of `runs` pairs."""
    return _student(runs - 1, alpha)


@lru_cache(4096)
def welch_test(runs: int, alpha: float) -> Thresholds:
    """Thresholds of Welch's test of two groups of `runs` runs whose true spreads are equal."""
    from scipy.special import stdtrit

    spread, weight = _spreads(runs - 1, 16)
    i, j = np.triu_indices(len(spread))
    u, v = spread[i] ** 2, spread[j] ** 2
    freedom = (runs - 1) * (u + v) ** 2 / (u**2 + v**2)
    limits = stdtrit(freedom, 1 - alpha) * np.sqrt((u + v) / 2)
    return limits, weight[i] * weight[j] * np.where(i == j, 1, 2)


def finds(test: Test, runs: int, reach: float | Array) -> Any:
    """Probability that the two-sided difference test rejects when the true difference has that reach."""
    from scipy.special import ndtr

    limits, weights = test(runs, ALPHA / 2)
    far = np.asarray(reach)[..., None]
    return (ndtr(far - limits) + ndtr(-far - limits)) @ weights


def shows(test: Test, runs: int, reach: float | Array) -> Any:
    """Probability that TOST passes at a margin of that reach when there is no true difference."""
    from scipy.special import ndtr

    limits, weights = test(runs, ALPHA)
    return np.maximum(2 * ndtr(np.asarray(reach)[..., None] - limits) - 1, 0.0) @ weights


def least_found(test: Test, runs: int) -> float:
    """The reach that the difference test finds with probability POWER."""
    return _reach(lambda reach: finds(test, runs, reach))


def least_margin(test: Test, runs: int) -> float:
    """The reach of the margin at which TOST passes with probability POWER."""
    return _reach(lambda reach: shows(test, runs, reach))


@cache
def worth_pairing(pairs: int, a: int, b: int) -> float:
    """Correlation above which pairs find a smaller difference than all runs of both sides unpaired.

    Pairing takes half of the degrees of freedom and multiplies the variance by 1 - correlation.
    """
    alone = least_found(lambda _, alpha: _student(a + b - 2, alpha), a) * math.sqrt(1 / a + 1 / b)
    together = least_found(paired_test, pairs) * math.sqrt(2 / pairs)
    return 1 - (alone / together) ** 2


def runs_needed(spread: float, freedom: float, margin: float, *, pairs: bool) -> int | None:
    """Runs a side that settle the question at `margin` with probability POWER; None above MOST.

    Settled: TOST passes when there is no difference, and a difference of the margin's size is found.
    `spread` is only an estimate, with `freedom` degrees of freedom: the probability is averaged over what the
    true spread may be, so that few runs at hand ask for more than their own spread alone would.

    Args:
        spread: standard deviation of one run, or of the difference of a pair.
        freedom: degrees of freedom of `spread`.
        margin: as declared.
        pairs: the runs will be paired by seed.
    """
    if not spread > 0 or not margin > 0:
        return None
    wide = spread / margin
    least = range(LEAST_FOR_EQUIVALENCE, FAR)
    found = LEAST_FOR_EQUIVALENCE + bisect_left(least, wide, key=lambda runs: _widest(runs, freedom, pairs))
    if found == FAR:
        found = max(FAR, math.ceil(FAR * (wide / _widest(FAR, freedom, pairs)) ** 2))
    return found if found <= MOST else None


@lru_cache(4096)
def _widest(runs: int, freedom: float, pairs: bool) -> float:
    """The largest observed spread, in margins, that `runs` runs a side settle with probability POWER."""
    test, per_run = (paired_test, 1.0) if pairs else (welch_test, 2.0)
    unknown, weights = _spreads(freedom, 24)

    def least(chance: Chance) -> float:
        return _reach(lambda reach: float(chance(test, runs, reach * unknown) @ weights))

    needed = max(least(shows), least(finds))
    return 1 / (needed * math.sqrt(per_run / runs))


@lru_cache(4096)
def _student(freedom: float, alpha: float) -> Thresholds:
    from scipy.special import stdtrit

    spread, weights = _spreads(freedom, 64)
    return float(stdtrit(freedom, 1 - alpha)) * spread, weights


@cache
def _spreads(freedom: float, count: int) -> tuple[Array, Array]:
    """Sample spread over true spread, s / sigma, at nodes of its distribution, and their weights."""
    from scipy.special import gammaincinv

    nodes, weights = np.polynomial.legendre.leggauss(count)
    # A square at both ends of the probability: nodes lie closer where the quantile is steep.
    u = (nodes + 1) / 2
    p, slope = u * u * (3 - 2 * u), 6 * u * (1 - u)
    spread = np.sqrt(2 * gammaincinv(freedom / 2, p) / freedom)
    weights = weights / 2 * slope
    return spread, weights / weights.sum()


def _reach(probability: Callable[[float], float]) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda reach: probability(reach) - POWER, 0.0, 1000.0, xtol=1e-9))
