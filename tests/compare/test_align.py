import msgspec
import pytest

from repro.compare import judge
from repro.compare.lines.pair import Pair
from repro.compare.signals.align import aligned, trainings

change = msgspec.structs.replace


def test_run_that_goes_on_from_a_state_of_the_other_is_placed_there(make_side, build):
    whole = make_side([build.trace(build.segment(10))])
    rest = make_side([build.trace(build.segment(6, first=4))])
    for verdict in (judge(whole, rest), judge(rest, whole)):
        assert verdict.first is None
        assert verdict.signals["loss"].compared == 6
        assert verdict.numerics == "untested"
        assert verdict.outcome == "equivalent"
        assert any("after step 4: aligned there" in said for said in verdict.evidence)
        assert any(said.startswith("init: not compared, one run goes on") for said in verdict.not_controlled)


def test_difference_after_a_resume_is_named_on_the_common_count(make_side, build):
    rest = build.segment(6, first=4)
    steps = [change(s, gn=(7.0).hex()) if s.step == 2 else s for s in rest.steps.rows()]
    whole = make_side([build.trace(build.segment(10))])
    verdict = judge(whole, make_side([build.trace(change(rest, steps=build.steps(steps)))]))
    assert (verdict.first.signal, verdict.first.step) == ("gradient", 6)


def test_segments_of_one_trace_are_joined_where_the_state_was_seen(make_side, build):
    """Killed after step 6, its last checkpoint at step 4: steps 5 and 6 were done twice."""
    resumed = build.trace(build.segment(6, end=None), build.segment(6, first=4))
    verdict = judge(make_side([build.trace(build.segment(10))]), make_side([resumed]))
    assert verdict.numerics == "identical"
    assert verdict.signals["loss"].compared == 10
    assert any("resumed at step 4" in said for said in verdict.evidence)


def test_segments_that_go_on_at_the_end_are_one_training(build):
    """A program that makes a new optimizer for each phase."""
    (line,) = trainings(build.trace(build.segment(3), build.segment(2, first=3), build.segment(1, first=5)))
    assert list(line.steps.number) == [1, 2, 3, 4, 5, 6]
    assert sorted(line.snapshots) == [0, 1, 2, 3, 4, 5, 6]


def test_alternating_optimizers_give_two_trainings(build):
    one = [build.segment(1, first=n) for n in range(3)]
    two = [build.segment(1, first=n + 500) for n in range(3)]
    mixed = [segment for pair in zip(one, two, strict=True) for segment in pair]
    lines = trainings(build.trace(*mixed))
    assert [list(line.steps.number) for line in lines] == [[1, 2, 3], [1, 2, 3]]


def test_resume_from_zero_is_seen_and_not_thrown_away(make_side, build):
    again = build.trace(build.segment(6), build.segment(6))
    assert [len(line.steps) for line in trainings(again)] == [6, 6]
    verdict = judge(make_side([build.trace(build.segment(6))]), make_side([again]))
    assert verdict.numerics == "untested"
    assert any("rank 0, training 2 was traced only in b" in said for said in verdict.evidence)


def test_several_trainings_are_compared_one_by_one(make_side, build):
    """Folds of a cross-validation: other models, each counting from 1."""
    a = make_side([build.trace(build.segment(6), build.segment(6, salt=1))])
    b = make_side([build.trace(build.segment(6), build.segment(6, salt=2))])
    assert judge(a, a).numerics == "identical"
    assert judge(a, a).signals["loss"].compared == 12
    assert judge(a, b).first.signal == "init"


def test_an_earlier_training_comes_first_whatever_its_step(make_side, build):
    whole = build.segment(6)
    late = change(
        whole,
        steps=build.steps([change(s, gn=(7.0).hex()) if s.step == 5 else s for s in whole.steps.rows()]),
    )
    a = make_side([build.trace(whole, build.segment(6, salt=1))])
    b = make_side([build.trace(late, build.segment(6, salt=2))])
    verdict = judge(a, b)
    assert (verdict.first.signal, verdict.first.step) == ("gradient", 5)
    assert verdict.signals["gradient"].first_step == 5


def test_runs_with_nothing_in_common_count_from_their_own_start(make_side, build):
    verdict = judge(make_side(), make_side([build.trace(build.segment(salt=1000))]))
    assert verdict.first.step == 0


def test_model_that_never_changes_is_not_shifted(make_side, build):
    whole = build.segment(3)
    still = change(whole, snapshots=[build.shot(n, 5) for n in range(4)])
    verdict = judge(make_side([build.trace(still)]), make_side([build.trace(still)]))
    assert verdict.numerics == "identical"


def evidence(a, b):
    return judge(a, b).evidence


def resumed_at_4(build, **fields):
    """Killed after step 6, resumed from the checkpoint of step 4; `fields` change its steps from there."""
    rest = build.segment(6, first=4)
    return build.trace(build.segment(6, end=None), change(rest, **fields) if fields else rest)


def test_resumed_bitwise_is_said_with_what_it_rests_on(make_side, build):
    said = evidence(make_side([build.trace(build.segment(10))]), make_side([resumed_at_4(build)]))
    assert any("resumed at step 4, bitwise over the 6 steps in common with the other run" in x for x in said)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"idx": "ee"}, "data order not restored (samples differs first, at step 6"),
        ({"rng": {"torch": "ee"}}, "RNG not restored (rng differs first, at step 6"),
        ({"lr": ["0x1p-2"]}, "optimizer or learning rates not restored (update differs first, at step 6"),
        ({"gn": "0x1p+9"}, "something was not restored (gradient differs first, at step 6"),
    ],
)
def test_what_was_not_restored_is_named_by_what_differs_first(make_side, build, fields, words):
    rest = build.segment(6, first=4)
    steps = build.steps([change(s, **fields) if s.step == 2 else s for s in rest.steps.rows()])
    whole = make_side([build.trace(build.segment(10))])
    for other in (resumed_at_4(build, steps=steps), build.trace(change(rest, steps=steps))):
        assert any(f"resumed at step 4, {words}" in said for said in evidence(whole, make_side([other])))


def test_state_that_was_not_restored_is_named(make_side, build):
    """The momentum is not in the checkpoint: the state at the common step differs."""
    with_state = [build.shot(n, n, state=[f"{n:016x}"], buffers=["0a"]) for n in range(11)]
    whole = change(build.segment(10), snapshots=with_state)
    rest = [build.shot(n, n + 4, state=[f"{n:016x}"], buffers=["0a"]) for n in range(7)]
    resumed = change(build.segment(6, first=4), snapshots=rest)
    first = change(build.segment(6, end=None), snapshots=with_state[:7])
    for trace in (build.trace(resumed), build.trace(first, resumed)):
        said = evidence(make_side([build.trace(whole)]), make_side([trace]))
        assert any("resumed at step 4, optimizer not restored" in words for words in said)


def test_resumed_from_the_last_state_is_told_beside_a_run_without_a_break(make_side, build):
    """The state at the seam is that of the first part; what the second one had instead is told."""
    shots = [build.shot(n, n, state=[f"{n:016x}"]) for n in range(7)]
    whole = change(build.segment(6), snapshots=shots)
    lost = [build.shot(n, n + 3, state=[f"{n:016x}" if n == 0 else f"{n + 3:016x}"]) for n in range(4)]
    parts = change(build.segment(3), snapshots=shots[:4]), change(build.segment(3, first=3), snapshots=lost)
    said = evidence(make_side([build.trace(whole)]), make_side([build.trace(*parts)]))
    assert any("resumed at step 3, optimizer not restored" in words for words in said)
    phases = make_side([build.trace(*parts)])
    assert not any("resumed" in words for words in evidence(phases, phases))


def test_start_from_zero_is_said(make_side, build):
    again = build.trace(build.segment(6, end=None), build.segment(6))
    said = evidence(make_side([build.trace(build.segment(6))]), make_side([again]))
    assert any("from zero" in words for words in said) or any("training 2" in words for words in said)
    (_, second) = aligned(build.trace(build.segment(6)), again)[1]
    assert any("started from zero" in note for note in second.notes)


def test_unknown_state_is_said(build):
    strange = build.trace(build.segment(6, end=None), build.segment(6, salt=3))
    (_, second) = aligned(build.trace(build.segment(6)), strange)[1]
    assert any("unknown state" in note for note in second.notes)
    blind = build.trace(build.segment(6, end=None), change(build.segment(6), snapshots=[]))
    (_, second) = aligned(build.trace(build.segment(6)), blind)[1]
    assert any("was not recorded" in note for note in second.notes)


def test_runs_that_were_resumed_at_other_steps_are_put_on_one_count(make_side, build):
    late = build.trace(build.segment(8, end=None), build.segment(3, first=7))
    for verdict in (
        judge(make_side([resumed_at_4(build)]), make_side([late])),
        judge(make_side([late]), make_side([resumed_at_4(build)])),
    ):
        assert verdict.first is None
        assert verdict.signals["loss"].compared == 10
        assert sum("bitwise over" in said for said in verdict.evidence) == 2


def test_missing_steps_are_told_and_the_others_compared(make_side, build):
    whole = build.segment(9)
    gaps = build.steps([s for s in whole.steps.rows() if s.step not in (2, 5, 6, 9)])
    verdict = judge(make_side([build.trace(whole)]), make_side([build.trace(change(whole, steps=gaps))]))
    assert any("steps are missing in its trace: 2, 5-6" in said for said in verdict.evidence)
    assert any("counts 9 steps, the last one recorded is 8" in said for said in verdict.evidence)
    assert verdict.signals["loss"].compared == 5
    assert verdict.numerics != "identical"


def test_empty_trace_is_told(make_side, build):
    verdict = judge(make_side(), make_side([build.trace(change(build.segment(0), snapshots=[], end=None))]))
    assert verdict.numerics != "identical"
    assert any("traced only in a" in said for said in verdict.evidence)
    empty = make_side([change(build.trace(), segments=[], file="trace-0.jsonl")])
    assert any("b: trace-0.jsonl holds no record" in said for said in evidence(make_side(), empty))


def test_trace_of_another_bundle_is_incomparable_and_differs_from_the_start(make_side, build):
    other = build.segment(salt=5)
    start = {**other.start, "params": [{"name": "v", "shape": [3], "dtype": "float32"}]}
    a = make_side(identity={"tree": "aa"}, protocol={"command": ["python", "train.py"]})
    b = make_side(
        [build.trace(change(other, start=start))],
        identity={"tree": "bb"},
        protocol={"command": ["python", "train.py"]},
    )
    verdict = judge(a, b)
    assert verdict.verdict == "incomparable"
    assert (verdict.first.signal, verdict.first.step) == ("init", 0)


def test_dense_steps_and_evaluations_move_with_the_count(build):
    rest = build.segment(3, first=4)
    records = {
        "calls": [build.call(2, n=0), build.call(2, n=1)],
        "gradients": [build.gradients(2)],
        "evaluations": [build.evaluation(3)],
    }
    whole = {
        "calls": [build.call(6, n=0)],
        "gradients": [build.gradients(6)],
        "evaluations": [build.evaluation(7)],
    }
    ((x, y),) = aligned(build.trace(build.segment(10, **whole)), build.trace(change(rest, **records)))
    pair = Pair.of(x, y)
    assert [(len(p), len(q)) for p, q in [pair.calls()[6]]] == [(1, 2)]
    assert list(pair.gradients()) == [6]
    assert [(p.step, q.step) for p, q in pair.evaluations()] == [(7, 7)]
