"""The figures that the design rests on, and the tests beside SciPy's own where it has them."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from repro.compare.chance import power, statistics

# divergence.md 3.4: n, prediction half-widths for 1, 3 and 5 new runs, difference found, margin passed.
TABLE = [
    (3, 4.97, 3.51, 3.14, 3.07, 2.92),
    (4, 3.56, 2.43, 2.13, 2.38, 2.35),  # 2.36 there, from a simulation
    (5, 3.04, 2.03, 1.76, 2.02, 2.03),
    (8, 2.51, 1.60, 1.35, 1.51, 1.54),
    (10, 2.37, 1.49, 1.24, 1.33, 1.36),
    (20, 2.14, 1.30, 1.05, 0.91, 0.94),
]
A, B = [0.91, 0.93, 0.92, 0.95, 0.9], [0.94, 0.9, 0.96, 0.93]


@pytest.mark.parametrize("row", TABLE)
def test_every_figure_of_the_table_of_run_numbers(row):
    n, *figures = row
    per_run = math.sqrt(2 / n)
    found = [
        *(statistics.half_width(n, new) for new in (1, 3, 5)),
        power.least_found(power.pooled_test, n) * per_run,
        power.least_margin(power.pooled_test, n) * per_run,
    ]
    assert found == pytest.approx(figures, abs=0.0055)


@pytest.mark.parametrize(("n", "worth"), [(3, 0.56), (5, 0.28), (10, 0.11)])
def test_correlation_from_which_pairing_is_worth_its_degrees_of_freedom(n, worth):
    assert power.worth_pairing(n, n, n) == pytest.approx(worth, abs=0.006)


def test_prediction_interval_of_the_first_finding():
    """Mean plus or minus 2 s alarms falsely 22 % of the time with three runs, 14 % with five."""
    for n, alarm in ((3, 0.22), (5, 0.14)):
        beyond = 2 / math.sqrt(1 + 1 / n)
        assert 2 * statistics.tail(n - 1, beyond) == pytest.approx(alarm, abs=0.02)
    low, high = statistics.predicted([1.0, 2.0, 3.0], 1)
    assert (low, high) == pytest.approx((2 - 4.968, 2 + 4.968), abs=0.001)


def test_welch_is_that_of_scipy():
    found, known = statistics.welch(A, B), stats.ttest_ind(B, A, equal_var=False)
    assert found.p_difference == pytest.approx(known.pvalue)
    assert found.interval() == pytest.approx(known.confidence_interval(0.9))


def test_pooled_and_paired_are_those_of_scipy():
    assert statistics.pooled(A, B).p_difference == pytest.approx(stats.ttest_ind(A, B).pvalue)
    assert statistics.paired(A[:4], B).p_difference == pytest.approx(stats.ttest_rel(A[:4], B).pvalue)
    assert statistics.correlation(A[:4], B) == pytest.approx(stats.pearsonr(A[:4], B).statistic)


def test_one_new_run_is_tested_as_its_prediction_interval_says():
    low, high = statistics.predicted(A, 1)
    for value, inside in ((low + 1e-9, True), (high + 1e-9, False)):
        assert (statistics.pooled(A, [value]).p_difference > 0.05) == inside


def test_tost_passes_just_when_the_90_percent_interval_lies_inside():
    contrast = statistics.welch(A, B)
    reach = max(map(abs, contrast.interval()))
    assert contrast.p_equivalence(reach) == pytest.approx(0.05)
    assert contrast.p_equivalence(reach * 1.01) < 0.05 < contrast.p_equivalence(reach * 0.99)


def test_holm_steps_down_and_leaves_out_the_unknown():
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([0.04, None, 0.01]) == [0.04, None, 0.02]
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_equal_values_of_a_discrete_metric_do_not_show_that_nothing_varies():
    tied = statistics.welch([0.99, 0.99], [0.98, 0.98])
    assert (tied.p_difference, tied.p_equivalence(0.1), tied.interval()) == (None, None, None)
    step = 1 / 450
    assert statistics.variance([0.99, 0.99], step) == pytest.approx(step**2 / 12)
    assert statistics.welch([0.99, 0.99], [0.99 - step] * 2, step).p_difference > 0.05


def test_rounding_of_equal_numbers_is_no_spread():
    assert statistics.variance([0.1 + 0.2, 0.3, 0.3]) == 0.0
    assert statistics.correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


def test_floor_of_a_finite_evaluation_set():
    assert statistics.finite_set_floor(0.9, 450) == pytest.approx(math.sqrt(0.09 / 450))
    assert statistics.finite_set_floor(1.0, 450) == 0.0


def test_runs_are_dropped_as_mlperf_does_only_from_ten_on():
    assert statistics.trimmed(range(9)) == list(range(9))
    assert statistics.trimmed([5, 1, 9, 2, 3, 4, 6, 7, 8, 0]) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_mcnemar_is_the_exact_binomial_test():
    for b, c in ((10, 1), (6, 0), (5, 0), (3, 3), (0, 0)):
        known = stats.binomtest(b, b + c).pvalue if b + c else 1.0
        assert statistics.sign_test(b, c) == pytest.approx(known)
    assert statistics.sign_test(10, 1) == pytest.approx(0.012, abs=0.0005)
    assert statistics.sign_test(6, 0) < 0.05 < statistics.sign_test(5, 0)


@pytest.mark.parametrize("n", [2, 3, 5, 20])
@pytest.mark.parametrize("reach", [0.5, 2.0, 5.0])
def test_power_of_the_difference_test_is_the_noncentral_t(n, reach):
    freedom = 2 * n - 2
    t = stats.t.ppf(0.975, freedom)
    known = stats.nct.sf(t, freedom, reach) + stats.nct.cdf(-t, freedom, reach)
    assert power.finds(power.pooled_test, n, reach) == pytest.approx(known, abs=1e-6)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_power_of_tost_is_the_integral_over_the_spread(n):
    freedom = 2 * n - 2
    t = stats.t.ppf(0.95, freedom)

    def passes(x):
        return max(2 * ndtr(3 - t * math.sqrt(x / freedom)) - 1, 0) * stats.chi2.pdf(x, freedom)

    known = integrate.quad(passes, 0, freedom * (3 / t) ** 2)[0]
    assert power.shows(power.pooled_test, n, 3.0) == pytest.approx(known, abs=1e-4)


def test_power_of_welch_agrees_with_simulated_runs():
    rng = np.random.default_rng(20)
    x, y = rng.standard_normal((2, 20_000, 4))
    found = stats.ttest_ind(x, y + 2.5, axis=1, equal_var=False).pvalue < 0.05
    assert power.finds(power.welch_test, 4, 2.5 / math.sqrt(2 / 4)) == pytest.approx(found.mean(), abs=0.01)


def test_runs_needed_grow_with_the_spread_and_with_what_is_not_known_of_it():
    known = [power.runs_needed(1.0, freedom, 1.0, pairs=False) for freedom in (2, 4, 18, 1000)]
    assert known == sorted(known, reverse=True)
    assert known[-1] == 18  # what a spread known exactly asks for
    assert power.runs_needed(0.5, 4, 1.0, pairs=False) < known[1] < power.runs_needed(2, 4, 1.0, pairs=False)
    assert power.runs_needed(1.0, 4, 1.0, pairs=True) < known[1]
    assert power.runs_needed(1e-9, 4, 1.0, pairs=False) == statistics.LEAST_FOR_EQUIVALENCE


def test_runs_needed_are_not_said_where_there_is_no_number():
    assert power.runs_needed(0.0, 4, 1.0, pairs=False) is None
    assert power.runs_needed(1.0, 4, 0.0, pairs=False) is None
    assert power.runs_needed(1.0, 4, 0.001, pairs=False) is None
