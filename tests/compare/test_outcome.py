import math

import msgspec
import pytest

from repro.compare import exit_status, judge

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
        "untested",
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
    assert verdict.verdict == "inconclusive"


def test_metric_of_one_side_only_is_no_equal_result(make_side):
    verdict = judge(make_side(metrics={"acc": 0.9}), make_side())
    assert (verdict.numerics, verdict.outcome) == ("untested", "untested")
    assert "eval: metric `acc` only in a" in verdict.not_controlled


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_loss_that_breaks_on_one_side_is_diverged(make_side, build, bad):
    whole = build.segment()
    steps = [change(s, loss=bad) if s.step == 3 else s for s in whole.steps]
    broken = make_side([build.trace(change(whole, steps=steps))])
    verdict = judge(make_side(), broken)
    assert (verdict.verdict, verdict.outcome) == ("diverged", "diverged")
    assert exit_status(verdict.verdict) == 1
    assert any("NaN or infinite in b and finite in a" in said for said in verdict.evidence)
    assert verdict.signals["loss"].largest is None
    assert judge(broken, broken).verdict == "identical"


def test_loss_of_a_skipped_step_may_be_infinite(make_side, build):
    whole = build.segment()
    steps = [change(s, loss="inf", skipped=True) if s.step == 3 else s for s in whole.steps]
    assert judge(make_side(), make_side([build.trace(change(whole, steps=steps))])).outcome == "equivalent"


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
