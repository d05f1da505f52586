"""The second question over several runs a side: every outcome, and what is said with it."""

import msgspec
import pytest

from repro.compare import exit_status, groups
from repro.compare.gate.declared import declared

change = msgspec.structs.replace
PROTOCOL = {"metric": "acc", "margin": 0.05, "seed": 1, "parameters": {"seed": "seed"}}
CLOSE = [0.91, 0.92, 0.915, 0.905, 0.918]


def said(verdict):
    return "\n".join(verdict.evidence)


def test_equal_groups_are_equivalent(make_group):
    verdict = groups.judge(make_group(CLOSE), make_group([x + 0.002 for x in reversed(CLOSE)], salt=2))
    assert (verdict.verdict, verdict.outcome) == ("equivalent", "equivalent")
    assert exit_status(verdict.verdict) == 0
    (row,) = verdict.statistics
    assert (row.metric, row.n, row.margin, row.outcome) == ("acc", (5, 5), 0.05, "equivalent")
    assert row.difference == pytest.approx(0.002)
    assert row.low < 0.002 < row.high < 0.05
    assert row.p_equivalence < 0.05 < row.p_difference
    assert (row.needed, row.floor, row.paired) == (None, None, False)
    assert "one run a side" not in said(verdict)
    assert "those of one pair: r1-1 and r2-1" in said(verdict)


def test_a_real_difference_inside_the_margin_is_different_but_equivalent(make_group):
    verdict = groups.judge(
        make_group(CLOSE), make_group([x + 0.02 for x in CLOSE], salt=2, seeds=range(6, 11))
    )
    assert verdict.verdict == "different-but-equivalent"
    assert exit_status(verdict.verdict) == 0


def test_a_real_difference_beyond_the_margin_has_diverged(make_group):
    verdict = groups.judge(make_group(CLOSE), make_group([x - 0.1 for x in CLOSE], salt=2))
    assert (verdict.verdict, verdict.outcome) == ("diverged", "diverged")
    assert exit_status(verdict.verdict) == 1


def test_wide_spread_is_inconclusive_and_says_how_many_runs_would_settle_it(make_group):
    a, b = [0.80, 0.92, 0.86], [0.90, 0.82, 0.85]
    verdict = groups.judge(make_group(a), make_group(b, salt=2))
    assert (verdict.verdict, verdict.outcome) == ("inconclusive", "inconclusive")
    assert exit_status(verdict.verdict) == 6
    assert verdict.statistics[0].needed > 3
    assert "not shown to be smaller than the margin of 0.05" in said(verdict)


def test_two_runs_a_side_cannot_be_called_equivalent(make_group):
    verdict = groups.judge(make_group([0.911, 0.912]), make_group([0.912, 0.911], salt=2))
    assert verdict.outcome == "inconclusive"
    assert "at least 3 runs a side" in said(verdict)
    assert verdict.statistics[0].p_equivalence is None


@pytest.mark.parametrize(("value", "word"), [(0.915, "inconclusive"), (0.7, "diverged")])
def test_one_new_run_beside_five_is_predicted_and_never_equivalent(make_group, value, word):
    verdict = groups.judge(make_group(CLOSE), make_group([value], salt=2))
    (row,) = verdict.statistics
    assert (verdict.outcome, row.n) == (word, (5, 1))
    assert row.deviation[1] is None
    low, high = row.predicted
    assert (low <= value <= high) == (word == "inconclusive")
    swapped = groups.judge(make_group([value], salt=2), make_group(CLOSE))
    assert (swapped.outcome, swapped.statistics[0].predicted) == (word, None)


def test_one_new_run_just_outside_of_a_narrow_prediction_stays_open_inside_the_margin(make_group):
    verdict = groups.judge(make_group([0.9101, 0.9102, 0.9100]), make_group([0.912], salt=2))
    assert verdict.outcome == "inconclusive"
    assert "yet by less than the margin" in said(verdict)


def test_enough_runs_that_do_not_settle_it_ask_for_more_without_a_number(make_group):
    spec = {"protocol": {**PROTOCOL, "margin": 0.0155}}
    b = make_group([x + 0.0084 for x in CLOSE], salt=2, seeds=range(6, 11), spec=spec)
    verdict = groups.judge(make_group(CLOSE, spec=spec), b)
    assert (verdict.outcome, verdict.statistics[0].needed) == ("inconclusive", None)
    assert "four times in five, and this time they do not" in said(verdict)


def test_a_hopeless_margin_has_no_number_of_runs(make_group):
    spec = {"protocol": {**PROTOCOL, "margin": 1e-6}}
    verdict = groups.judge(make_group(CLOSE, spec=spec), make_group(CLOSE[::-1], salt=2, spec=spec))
    assert verdict.statistics[0].needed is None
    assert "more than 10000 runs a side" in said(verdict)


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_broken_candidate_has_diverged_unless_the_reference_breaks_too(make_group, bad):
    a, b = make_group(CLOSE), make_group([*CLOSE[:4], float(bad)], salt=2)
    verdict = groups.judge(a, b)
    assert verdict.outcome == "diverged"
    assert "1 of 5 runs of b broke: `acc` is NaN or infinite" in said(verdict)
    both = groups.judge(make_group([*CLOSE[:4], float(bad)]), b)
    assert both.outcome == "equivalent"
    assert both.statistics[0].n == (4, 4)
    assert "1 of 5 runs of a broke" in said(both)
    assert groups.judge(b, a).outcome == "equivalent"


def test_a_loss_or_weight_that_breaks_is_found_without_a_metric(make_group, build):
    a, b = make_group(CLOSE), make_group(CLOSE, salt=2)
    segment = b[1].traces[0].segments[0]
    rows = [change(row, loss="nan") if row.step == 2 else row for row in segment.steps.rows()]
    ill = change(b[1].traces[0], segments=[change(segment, steps=type(segment.steps).of(rows))])
    verdict = groups.judge(a, [b[0], type(b[1])(b[1].run, [ill]), *b[2:]])
    assert verdict.outcome == "diverged"
    assert "the loss is NaN or infinite at step 2" in said(verdict)
    shots = [change(shot, nonfinite=1) if shot.step == 4 else shot for shot in segment.snapshots]
    ill = change(b[1].traces[0], segments=[change(segment, snapshots=shots)])
    assert "a final weight" in said(groups.judge(a, [b[0], type(b[1])(b[1].run, [ill]), *b[2:]]))


def test_without_a_margin_nothing_is_assumed_and_one_deviation_is_offered(make_group):
    bare = {"protocol": {**PROTOCOL, "margin": None}}
    verdict = groups.judge(make_group(CLOSE, spec=bare), make_group([0.5] * 5, salt=2, spec=bare))
    assert (verdict.outcome, verdict.verdict) == ("untested", verdict.numerics)
    assert verdict.statistics[0].p_difference < 0.001
    assert "one standard deviation of the reference's 5 runs is 0.00611" in said(verdict)
    nothing = {"protocol": {"seed": 1}}
    verdict = groups.judge(make_group(CLOSE, spec=nothing), make_group(CLOSE, salt=2, spec=nothing))
    assert (verdict.outcome, verdict.statistics) == ("untested", [])
    assert "never assumed" in said(verdict)


def test_every_declared_metric_has_to_be_equivalent(make_group):
    spec = {"protocol": {**PROTOCOL, "margins": {"loss": 0.5, "f1": 0.5}}}
    assert list(declared(*make_group([0.1], spec=spec)).margins) == ["acc", "loss", "f1"]

    def both(shift):
        rows = [{"acc": x, "loss": 3 * x + shift, "f1": 7 * x} for x in CLOSE]
        return rows if shift == 0 else list(reversed(rows))

    verdict = groups.judge(make_group(both(0), spec=spec), make_group(both(0.01), salt=2, spec=spec))
    assert verdict.outcome == "equivalent"
    assert [row.metric for row in verdict.statistics] == ["acc", "loss", "f1"]
    assert [row.name for row in verdict.metrics] == ["acc", "loss", "f1"]
    verdict = groups.judge(make_group(both(0), spec=spec), make_group(both(2.0), salt=2, spec=spec))
    assert [row.outcome for row in verdict.statistics] == ["equivalent", "diverged", "equivalent"]
    assert verdict.outcome == "diverged"
    assert "Holm over 3 tests" in said(verdict)


def test_a_metric_that_a_run_lacks_is_not_tested(make_group):
    spec = {"protocol": {**PROTOCOL, "margins": {"f1": 0.5}}}
    full = [{"acc": x, "f1": x} for x in CLOSE]
    verdict = groups.judge(
        make_group(full, spec=spec), make_group([*full[:4], {"acc": 0.915}], salt=2, spec=spec)
    )
    assert verdict.outcome == "inconclusive"
    assert "`f1` was not recorded by every run" in said(verdict)


def rows(right):
    return [{"id": str(n), "prediction": n if ok else -1, "correct": ok} for n, ok in enumerate(right)]


def answered(make_group, shares, salt):
    """Runs of 40 examples of which that many are right, each seed with others wrong."""
    made = make_group([right / 40 for right in shares], salt=salt)
    for place, (side, right) in enumerate(zip(made, shares, strict=True)):
        answers = [(n + 7 * place + 3 * salt) % 40 < right for n in range(40)]
        made[place] = type(side)(change(side.run, rows=rows(answers)), side.traces)
    return made


def test_flips_stand_beside_those_between_seeds_and_the_floor_beside_the_spread(make_group):
    verdict = groups.judge(
        answered(make_group, [36, 38, 37, 35, 36], 1), answered(make_group, [36, 37, 38, 36, 35], 2)
    )
    assert verdict.flips["examples"] == 40
    low, high = verdict.noise["seeds"]
    assert 0 < low <= high
    assert verdict.noise["seeds_discordant"][0] > 0
    assert verdict.statistics[0].floor == pytest.approx((0.91 * 0.09 / 40) ** 0.5, rel=1e-6)
    assert "Holm over 5 seeds" in said(verdict)


def test_one_seed_alone_is_not_tested_by_mcnemar(make_group):
    a, b = answered(make_group, [38], 1), answered(make_group, [20], 2)
    verdict = groups.judge(a, [*b, *make_group([0.5], salt=3, seeds=[2])])
    assert "McNemar" not in said(verdict)
