import math

import msgspec
import pytest

from repro.compare import exit_status, judge
from repro.compare.signals.flips import flips, mcnemar, mcnemar_said, noise
from repro.model.trace import Evaluation

change = msgspec.structs.replace
SPEC = {"protocol": {"metric": "acc", "margin": 0.01, "precision": "fp32"}}


def differing(build):
    return [build.trace(build.segment(salt=1))]


def test_metric_beside_margin_is_inconclusive_with_one_run_a_side(make_side, build):
    a = make_side(metrics={"acc": 0.9125, "zeta": 1.0}, protocol=SPEC)
    b = make_side(differing(build), metrics={"acc": 0.915, "zeta": 1.0}, protocol=SPEC)
    verdict = judge(a, b)
    assert (verdict.verdict, verdict.numerics, verdict.outcome) == (
        "inconclusive",
        "beyond-rounding",
        "inconclusive",
    )
    assert exit_status(verdict.verdict) == 6
    first = verdict.metrics[0]
    assert (first.name, first.margin, first.declared) == ("acc", 0.01, True)
    assert float.fromhex(first.difference) == 0.915 - 0.9125
    assert any("inside the declared margin of 0.01" in said for said in verdict.evidence)
    assert any("how many runs would settle it" in said for said in verdict.evidence)


def test_outside_the_margin_is_said_too(make_side, build):
    a = make_side(metrics={"acc": 0.9}, protocol=SPEC)
    b = make_side(differing(build), metrics={"acc": 0.8}, protocol=SPEC)
    assert any("outside the declared margin" in said for said in judge(a, b).evidence)


@pytest.mark.parametrize(
    "protocol", [{}, {"protocol": {"metric": "acc"}}, {"protocol": {"metric": "other", "margin": 1}}]
)
def test_without_metric_or_margin_the_outcome_is_untested(make_side, build, protocol):
    a = make_side(metrics={"acc": 0.9}, protocol=protocol)
    b = make_side(differing(build), metrics={"acc": 0.8}, protocol=protocol)
    verdict = judge(a, b)
    assert verdict.outcome == "untested"
    assert verdict.verdict == "beyond-rounding"


def test_metric_of_one_side_only_is_no_equal_result(make_side):
    verdict = judge(make_side(metrics={"acc": 0.9}), make_side())
    assert (verdict.numerics, verdict.outcome) == ("untested", "untested")
    assert "eval: metric `acc` only in a" in verdict.not_controlled


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_loss_that_breaks_on_one_side_is_diverged(make_side, build, bad):
    whole = build.segment()
    steps = [change(s, loss=bad) if s.step == 3 else s for s in whole.steps.rows()]
    broken = make_side([build.trace(change(whole, steps=build.steps(steps)))])
    verdict = judge(make_side(), broken)
    assert (verdict.verdict, verdict.outcome) == ("diverged", "diverged")
    assert exit_status(verdict.verdict) == 1
    assert any("NaN or infinite in b and finite in a" in said for said in verdict.evidence)
    assert verdict.signals["loss"].largest is None
    assert judge(broken, broken).verdict == "identical"


def test_loss_of_a_skipped_step_may_be_infinite(make_side, build):
    whole = build.segment()
    steps = [change(s, loss="inf", skipped=True) if s.step == 3 else s for s in whole.steps.rows()]
    assert (
        judge(make_side(), make_side([build.trace(change(whole, steps=build.steps(steps)))])).outcome
        == "equivalent"
    )


def test_weights_or_metric_that_break_on_one_side(make_side, build):
    whole = build.segment(salt=1)
    shots = [change(s, nonfinite=3) if s.step == 4 else s for s in whole.snapshots]
    assert judge(make_side(), make_side([build.trace(change(whole, snapshots=shots))])).outcome == "diverged"
    assert judge(make_side(metrics={"m": 1.0}), make_side(metrics={"m": math.nan})).outcome == "diverged"


def test_nan_metrics_are_equal(make_side):
    assert (
        judge(make_side(metrics={"m": math.nan}), make_side(metrics={"m": math.nan})).verdict == "identical"
    )


def test_metrics_of_time_are_shown_and_not_compared(make_side):
    a = make_side(metrics={"acc": 0.5, "train_seconds": 3.1, "samples_per_second": 10})
    b = make_side(metrics={"acc": 0.5, "train_seconds": 2.9, "samples_per_second": 11})
    verdict = judge(a, b)
    assert verdict.verdict == "identical"
    assert {row.name for row in verdict.metrics} == {"acc", "samples_per_second", "train_seconds"}
    assert any("train_seconds" in said for said in verdict.not_controlled)


def test_declared_metric_of_time_is_compared(make_side):
    spec = {"protocol": {"metric": "time_to_target", "margin": 5}}
    a = make_side(metrics={"time_to_target": 100}, protocol=spec)
    b = make_side(metrics={"time_to_target": 101}, protocol=spec)
    assert judge(a, b).first.signal == "eval"


def test_eval_difference_alone_is_placed_at_the_end(make_side):
    verdict = judge(make_side(metrics={"acc": 0.5}), make_side(metrics={"acc": 0.75}))
    assert (verdict.first.signal, verdict.first.step) == ("eval", 4)
    assert verdict.outcome == "untested"
    assert verdict.signals["eval"].largest == 0.25


def rows(*answers):
    return [{"id": f"e{n}", "prediction": p, "label": 1, "correct": p == 1} for n, p in enumerate(answers)]


def test_flips_are_counted_by_id(make_side):
    a, b = make_side(rows=rows(1, 1, 0, 2)), make_side(rows=list(reversed(rows(1, 0, 1, 3))))
    verdict = judge(a, b)
    assert verdict.flips == {"examples": 4, "disagreements": 3, "only_a_correct": 1, "only_b_correct": 1}
    assert verdict.first.signal == "eval"


def test_rows_of_one_side_only(make_side):
    verdict = judge(make_side(rows=rows(1, 1)), make_side(rows=rows(1)))
    assert verdict.flips["examples"] == 1
    assert verdict.numerics == "untested"
    assert any("1 examples only in a, such as `e1`" in said for said in verdict.not_controlled)
    assert judge(make_side(rows=rows(1)), make_side()).flips is None


def test_rows_without_ids_are_paired_by_place(make_side):
    plain = [{"prediction": 1}, {"prediction": 2}]
    assert judge(make_side(rows=plain), make_side(rows=plain)).verdict == "identical"
    other = [{"prediction": 1}, {"prediction": 3}]
    assert judge(make_side(rows=plain), make_side(rows=other)).flips["disagreements"] == 1


def test_further_metrics_have_margins_of_their_own(make_side, build):
    spec = {"protocol": {"metric": "acc", "margin": 0.01, "margins": {"f1": 0.1, "gone": 1}}}
    a = make_side(metrics={"acc": 0.9, "f1": 0.5, "zeta": 1}, protocol=spec)
    b = make_side(differing(build), metrics={"acc": 0.9, "f1": 0.7, "zeta": 1}, protocol=spec)
    verdict = judge(a, b)
    assert [(row.name, row.margin, row.declared) for row in verdict.metrics] == [
        ("acc", 0.01, True),
        ("f1", 0.1, True),
        ("zeta", None, False),
    ]
    assert verdict.outcome == "untested"
    assert any("`gone` was not recorded" in said for said in verdict.evidence)
    less = {"protocol": {"metric": "acc", "margin": 0.01, "margins": {"f1": 0.1}}}
    a, b = (type(a)(change(side.run, protocol=less), side.traces) for side in (a, b))
    verdict = judge(a, b)
    assert verdict.outcome == "inconclusive"
    assert any("`f1` differs by 0.2, outside" in said for said in verdict.evidence)


def test_a_usual_margin_is_offered_and_not_assumed(make_side, build):
    verdict = judge(make_side(metrics={"acc": 0.9}), make_side(differing(build), metrics={"acc": 0.9}))
    assert any("one standard deviation" in said and "never assumed" in said for said in verdict.evidence)


def scored(build, *answers):
    """A trace whose last evaluation gave these predictions."""
    seen = Evaluation(
        step=4,
        calls=1,
        rows=len(answers),
        mode="eval",
        prediction=[place for place, _ in answers],
        margin=[float(margin).hex() for _, margin in answers],
    )
    return build.trace(change(build.segment(), evaluations=[seen]))


def test_flips_without_rows_come_from_what_the_recorder_saw(make_side, build):
    a = make_side([scored(build, (1, 1.0), (2, 0.01), (3, 2.0), (4, 1.0))])
    b = make_side([scored(build, (1, 1.0), (5, 0.02), (6, 2.0), (4, 1.0))])
    assert flips(a, b) == {"examples": 4, "disagreements": 2, "close": 1}
    assert judge(a, b).flips == flips(a, b)
    assert flips(a, make_side([scored(build, (1, 1.0))])) is None
    assert flips(a, make_side()) is None
    assert flips(a, make_side(rows=rows(1, 1))) is None


def test_rows_go_before_what_the_recorder_saw(make_side, build):
    a = make_side([scored(build, (1, 1.0))], rows=rows(1, 2))
    b = make_side([scored(build, (2, 1.0))], rows=rows(1, 2))
    assert flips(a, b)["disagreements"] == 0


def test_noise_is_the_range_of_flips_between_runs(make_side):
    sides = [make_side(rows=rows(1, 1, 1)), make_side(rows=rows(1, 1, 0)), make_side(rows=rows(1, 0, 2))]
    assert noise("members", sides) == {"members": [1, 2], "members_discordant": [1, 2]}
    assert noise("members", sides[:1]) == {}
    assert noise("members", [make_side(), make_side()]) == {}


def test_mcnemar_is_corrected_over_seeds_and_never_made_for_one(make_side):
    a, b = make_side(rows=rows(*[1] * 12)), make_side(rows=rows(*[1] * 2, *[0] * 10))
    same = make_side(rows=rows(*[1] * 12))
    assert mcnemar([("1", a, b)]) == []
    (one, *others) = mcnemar([("1", a, b), *((str(n), a, same) for n in range(2, 9))])
    assert one[:3] == ("1", 10, 0)
    assert one[3] == pytest.approx(8 * 2 * 0.5**10)
    assert {p for *_, p in others} == {1.0}
    assert "differ beyond chance" in mcnemar_said([one, *others])[1]
    counts, word = mcnemar_said([("3", 10, 1, 0.1), ("4", 0, 0, 1.0)])
    assert "0 to 11 are right in only one" in counts
    assert "no seed stands out" in word
