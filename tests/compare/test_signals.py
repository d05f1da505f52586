"""What counts as one value of a signal, as absent on purpose, as missing, and as not readable."""

import msgspec
import pytest

from repro.compare import judge
from repro.compare.lines.pair import Pair
from repro.compare.signals.align import aligned
from repro.compare.signals.measured import notes, take
from repro.compare.signals.walk import measure

change = msgspec.structs.replace


def pair_of(build, x, y):
    (lines,) = aligned(build.trace(x), build.trace(y))
    return Pair.of(*lines)


def thinned(build, stride=4, *, steps=40, said=True, **fields):
    """A trace without gn, rng, batch and fwd after step 16, but at multiples of the stride."""
    whole = build.segment(steps, **fields)
    rows = [
        s if s.step <= 16 or s.step % stride == 0 else change(s, gn=None, rng={}, batch=None, fwd=None)
        for s in whole.steps.rows()
    ]
    event = {"k": "x", "what": "thinned", "step": 16, "stride": stride}
    return change(whole, steps=build.steps(rows), events=[event] if said else [])


SAMPLED = ("samples", "rng", "forward", "gradient")


def test_thinned_steps_are_compared_where_both_have_them_and_never_missing(make_side, build):
    a, b = build.segment(40), thinned(build)
    verdict = judge(make_side([build.trace(a)]), make_side([build.trace(b)]))
    assert verdict.numerics == "identical"
    found = take(make_side([build.trace(a)]), make_side([build.trace(b)]))
    for name in SAMPLED:
        assert found.tallies[name].missing == {}
        assert found.tallies[name].thinned == {"b": 36 if name == "rng" else 18}
    assert found.tallies["gradient"].compared == 22
    assert any("gradient: the recorder left out 18 values in b" in said for said in notes(found))
    assert not any(said.startswith("gradient:") for said in verdict.not_controlled)


def test_difference_in_a_thinned_trace_is_found_at_the_next_common_step(build):
    rows = [change(s, gn="0x1p+9") if s.step > 17 and s.gn else s for s in thinned(build).steps.rows()]
    other = change(thinned(build), steps=build.steps(rows))
    assert measure(pair_of(build, build.segment(40), other))["gradient"].first == 20


def test_strides_of_both_sides_meet_at_the_larger_one(build):
    tallies = measure(pair_of(build, thinned(build, 4), thinned(build, 8)))
    assert tallies["forward"].compared == 16 + len([24, 32, 40])
    assert tallies["forward"].thinned == {"b": len([20, 28, 36])}
    assert tallies["loss"].compared == 40


def test_values_absent_without_a_word_are_missing(build):
    tallies = measure(pair_of(build, build.segment(40), thinned(build, said=False)))
    assert tallies["gradient"].missing == {"b": 18}
    assert tallies["gradient"].thinned == {}


def test_values_absent_in_the_first_steps_are_missing_even_where_the_recorder_thinned(build):
    other = thinned(build)
    rows = [change(s, gn=None) if s.step == 7 else s for s in other.steps.rows()]
    tallies = measure(pair_of(build, build.segment(40), change(other, steps=build.steps(rows))))
    assert tallies["gradient"].missing == {"b": 1}


def test_large_batches_are_there_at_snapshots_only_and_that_is_no_damage(build):
    whole = build.segment(40)
    shots = [s for s in whole.snapshots if s.step <= 10 or s.step in (16, 32, 40)]
    rows = [
        s if s.step in {shot.step for shot in shots} else change(s, batch=None) for s in whole.steps.rows()
    ]
    large = change(whole, steps=build.steps(rows), snapshots=shots)
    tally = measure(pair_of(build, whole, large))["samples"]
    assert (tally.missing, tally.thinned) == ({}, {"b": 27})


def test_outputs_of_the_forward_pass_differ(build):
    whole = build.segment()
    rows = [change(s, fwd="ff") if s.step == 3 else s for s in whole.steps.rows()]
    tallies = measure(pair_of(build, whole, change(whole, steps=build.steps(rows))))
    assert (tallies["forward"].compared, tallies["forward"].first) == (4, 3)
    assert not any(tally.differs for name, tally in tallies.items() if name != "forward")


def test_gradients_of_a_snapshot_belong_to_the_gradient(build):
    whole = build.segment()
    shots = {
        word: [change(s, grads=["none", word if s.step == 2 else "0a"]) for s in whole.snapshots]
        for word in ("0b", "0c")
    }
    a, b = (change(whole, snapshots=shots[word]) for word in ("0b", "0c"))
    tally = measure(pair_of(build, a, b))["gradient"]
    assert (tally.first, tally.compared) == (2, 4 + 2 * 5)


def test_snapshot_without_gradients_is_no_damage(build):
    """The state before the first step of a resumed run has none, that after the step before it has."""
    whole = build.segment()
    shots = [change(s, grads=["0a", "0b"]) for s in whole.snapshots]
    tally = measure(pair_of(build, whole, change(whole, snapshots=shots)))["gradient"]
    assert (tally.missing, tally.thinned, tally.compared) == ({}, {"a": 10}, 4)


@pytest.mark.parametrize("name", ["weights", "buffers", "state", "grads"])
def test_tensor_that_could_not_be_read_is_never_equal(build, make_side, name):
    whole = build.segment()
    shots = [change(s, **{name: ["0a", "unknown"]}) for s in whole.snapshots]
    same = change(whole, snapshots=shots)
    tallies = measure(pair_of(build, same, same))
    assert not any(tally.differs for tally in tallies.values())
    missing = {side: n for tally in tallies.values() for side, n in tally.missing.items()}
    assert missing.keys() <= {"a", "b"}
    verdict = judge(make_side([build.trace(same)]), make_side([build.trace(same)]))
    if name in ("weights", "buffers"):
        assert verdict.numerics != "identical"
        assert any("final weights" in said for said in verdict.evidence)
    other = [change(s, **{name: ["0b", "unknown"]}) for s in whole.snapshots]
    found = judge(make_side([build.trace(same)]), make_side([build.trace(change(whole, snapshots=other))]))
    assert found.first is not None


def evaluations(build, **fields):
    known = {"calls": 2, "rows": 8, "mode": "eval", "inputs": "0a", "outputs": "0b"}
    return build.segment(
        evaluations=[build.evaluation(2, **{**known, **fields}), build.evaluation(4, **known)]
    )


@pytest.mark.parametrize("fields", [{"inputs": "ff"}, {"outputs": "ff"}, {"mode": "train"}, {"rows": 9}])
def test_evaluations_are_compared_in_order(make_side, build, fields):
    verdict = judge(
        make_side([build.trace(evaluations(build))]), make_side([build.trace(evaluations(build, **fields))])
    )
    assert (verdict.first.signal, verdict.first.step) == ("eval", 2)
    assert verdict.signals["eval"].compared == 6


def test_equal_evaluations_leave_a_run_identical(make_side, build):
    a = make_side([build.trace(evaluations(build))], metrics={"acc": 0.5})
    assert judge(a, a).numerics == "identical"
    assert judge(a, a).signals["eval"].compared == 7


def test_outputs_have_a_size_where_they_were_sketched(build):
    sketch = {"norm2": (16.0).hex(), "sketch": [(1.0).hex(), (0.0).hex()]}
    a = evaluations(build, **sketch)
    b = evaluations(build, outputs="ff", norm2=(16.0).hex(), sketch=[(3.0).hex(), (0.0).hex()])
    assert measure(pair_of(build, a, b))["eval"].relative == pytest.approx(0.5)


def test_outputs_that_were_not_taken_are_no_difference(build):
    tally = measure(pair_of(build, evaluations(build), evaluations(build, outputs=None)))["eval"]
    assert (tally.first, tally.missing, tally.thinned) == (None, {}, {"b": 1})


def test_evaluation_that_only_one_side_made_is_missing_on_the_other(make_side, build):
    b = build.segment(evaluations=[])
    tally = measure(pair_of(build, evaluations(build), b))["eval"]
    assert (tally.compared, tally.missing) == (0, {"b": 2})
    verdict = judge(make_side([build.trace(evaluations(build))]), make_side([build.trace(b)]))
    assert verdict.numerics != "identical"


def test_an_evaluation_after_the_last_common_step_is_not_missed(build):
    longer = build.segment(8, evaluations=[build.evaluation(7, outputs="0a")])
    assert measure(pair_of(build, build.segment(4), longer))["eval"].missing == {}


def test_ratios_of_other_micro_batches_are_there_for_the_causes(make_side, build):
    """Accumulation without dividing the loss: four times the loss, four times the gradient."""
    whole = build.segment(8)
    rows = [
        change(s, nb=4, loss=(4 * float.fromhex(s.loss)).hex(), gn=(4 * float.fromhex(s.gn)).hex())
        for s in whole.steps.rows()
    ]
    other = change(whole, steps=build.steps(rows))
    (cut,) = take(make_side([build.trace(whole)]), make_side([build.trace(other)])).micro_batches.values()
    assert (cut.step, cut.a, cut.b, cut.loss, cut.gradient) == (1, 1, 4, 4.0, 4.0)
    assert take(make_side(), make_side()).micro_batches == {}
