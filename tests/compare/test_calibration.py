"""How often the judge is wrong and how often it finds what is there, over simulated runs.

All through the functions that `repro compare` calls. Values are in standard deviations of one run.
"""

import math
from collections import Counter

import numpy as np
import pytest

from repro.compare import groups
from repro.compare.results import decide, settle
from repro.compare.results.samples import Sample

COUNT = 1000
PROTOCOL = {"metric": "acc", "seed": 0, "parameters": {"seed": "seed"}}
EQUIVALENT = ("equivalent", "different-but-equivalent")


@pytest.fixture
def make_group(make_side):
    """`make_group(values, margin, first=0)`: whole runs with seeds from `first` on."""

    def make(values, margin, first=0):
        spec = {"protocol": {**PROTOCOL, "margin": margin}}
        return [
            make_side([], metrics={"acc": value}, params={"seed": seed}, protocol=spec, name=f"s{seed}")
            for seed, value in enumerate(values, first)
        ]

    return make


def normal(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n)


def heavy(rng, n):
    return rng.standard_t(3, n), rng.standard_t(3, n)


def skewed(rng, n):
    return rng.exponential(size=n), rng.exponential(size=n)


def uneven(rng, n):
    return rng.standard_normal(n), 3 * rng.standard_normal(n)


def correlated(rng, n):
    x, y = rng.standard_normal((2, n))
    return x, 0.95 * x + math.sqrt(1 - 0.95**2) * y


def outcomes(rng, count, n, margin, draw=normal, shift=0.0, resolution=0.0):
    """How often each word is given; the runs of both sides have the same seeds."""
    found = Counter()
    pairs = [(i, i) for i in range(n)]
    for _ in range(count):
        x, y = draw(rng, n)
        found[row(Sample("acc", list(x), list(y + shift), pairs, margin, resolution)).outcome] += 1
    return found


def row(sample):
    one = decide.tested(sample)
    return decide.decided(one, one.p, 1)[0]


def within(count, share, deviations=3.0):
    """The most that `count` draws of that probability show but for chance."""
    return count * share + deviations * math.sqrt(count * share * (1 - share))


def test_seeds_of_one_distribution_diverge_in_at_most_5_percent(make_group):
    rng = np.random.default_rng(4)
    words = Counter()
    for number in range(COUNT):
        n, margin = (2, 3, 5, 10)[number % 4], (0.25, 1.0, 2.0)[number % 3]
        x, y = normal(rng, n)
        words[groups.judge(make_group(x, margin), make_group(y, margin)).outcome] += 1
    assert words["diverged"] <= COUNT * 0.05
    assert words["diverged"] >= COUNT * 0.01  # the test is not asleep


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("draw", [normal, heavy, skewed, correlated])
def test_no_kind_of_spread_diverges_more_often(draw, n):
    """At a margin that nothing can be shown to be inside of, so that only the difference test speaks."""
    words = outcomes(np.random.default_rng(n), 500, n, 0.05, draw)
    assert words["diverged"] <= within(500, 0.05)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_unequal_spreads_diverge_about_as_often(n):
    """Welch's test is not exact here: up to 6.5 % with few runs."""
    assert outcomes(np.random.default_rng(n), 500, n, 0.05, uneven)["diverged"] <= within(500, 0.065)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("spread", [0.4, 1.0, 3.0])
def test_accuracy_of_450_examples(n, spread):
    """`spread` in examples: seeds that move the accuracy by less than an example, or by several."""

    def draw(rng, n):
        right = np.rint(440.3 + spread * rng.standard_normal((2, n)))
        return right[0] / 450, right[1] / 450

    words = outcomes(np.random.default_rng(n), 500, n, 0.1 / 450, draw, resolution=1 / 450)
    assert words["diverged"] <= within(500, 0.05)


def test_one_new_run_leaves_the_prediction_interval_in_5_percent(make_group):
    rng = np.random.default_rng(8)
    words = Counter()
    for number in range(COUNT):
        n = (2, 3, 5, 10)[number % 4]
        x, (y, _) = rng.standard_normal(n), normal(rng, 1)
        words[settle.settled(make_group(x, 0.05), make_group(y, 0.05, first=50))[0]] += 1
    assert words["diverged"] + words["inconclusive"] == COUNT  # equivalence cannot be shown
    assert COUNT * 0.03 <= words["diverged"] <= within(COUNT, 0.05)


@pytest.mark.parametrize(("pilot", "margin"), [(3, 2.0), (3, 1.0), (5, 1.5), (10, 0.7)])
def test_a_shift_of_twice_the_margin_is_found_with_as_many_runs_as_were_recommended(
    make_group, pilot, margin
):
    rng = np.random.default_rng(pilot)
    count, found = 250, 0
    for _ in range(count):
        x, y = normal(rng, pilot)
        row = groups.judge(make_group(x, margin), make_group(y, margin)).statistics[0]
        runs = row.needed or pilot
        x, y = normal(rng, runs)
        found += settle.settled(make_group(x, margin), make_group(y + 2 * margin, margin))[0] == "diverged"
    assert found >= 0.8 * count


@pytest.mark.parametrize(("pilot", "margin"), [(3, 1.0), (5, 1.0), (40, 0.3)])
def test_equal_runs_pass_as_often_as_promised(pilot, margin):
    """Few pilot runs leave the spread uncertain, and the recommendation pays for that."""
    rng = np.random.default_rng(pilot)
    passed = []
    while len(passed) < 400:
        x, y = normal(rng, pilot)
        runs = row(Sample("acc", list(x), list(y), margin=margin)).needed
        if runs is not None:
            words = outcomes(rng, 1, runs, margin)
            passed.append(sum(words[word] for word in EQUIVALENT))
    assert 0.8 - 0.06 <= np.mean(passed) <= 0.8 + 0.1


def test_a_difference_of_just_the_margin_is_seldom_called_equivalent():
    """What TOST promises: at most 5 %."""
    for n in (3, 5, 10):
        words = outcomes(np.random.default_rng(n), COUNT, n, 2.5, shift=2.5)
        assert sum(words[word] for word in EQUIVALENT) <= within(COUNT, 0.05)


def test_pairs_of_one_seed_settle_what_unpaired_runs_cannot():
    """8 seeds, correlation 0.95, margin of half a standard deviation: as measured in divergence.md 3.4."""
    paired = outcomes(np.random.default_rng(1), 300, 8, 0.5, correlated)
    alone = outcomes(np.random.default_rng(1), 300, 8, 0.5, normal)
    assert sum(paired[word] for word in EQUIVALENT) >= 240
    assert sum(alone[word] for word in EQUIVALENT) <= 60
