import msgspec

from repro.compare import judge
from repro.compare.align import trainings

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
    steps = [change(s, gn=(7.0).hex()) if s.step == 2 else s for s in rest.steps]
    whole = make_side([build.trace(build.segment(10))])
    verdict = judge(whole, make_side([build.trace(change(rest, steps=steps))]))
    assert (verdict.first.signal, verdict.first.step) == ("gradient", 6)


def test_segments_of_one_trace_are_joined_where_the_state_was_seen(make_side, build):
    """Killed after step 6, its last checkpoint at step 4: steps 5 and 6 were done twice."""
    resumed = build.trace(build.segment(6, end=None), build.segment(6, first=4))
    verdict = judge(make_side([build.trace(build.segment(10))]), make_side([resumed]))
    assert verdict.numerics == "identical"
    assert verdict.signals["loss"].compared == 10
    assert any("part 2 resumed at step 4" in said for said in verdict.evidence)


def test_segments_that_go_on_at_the_end_are_one_training(build):
    """A program that makes a new optimizer for each phase."""
    (line,) = trainings(build.trace(build.segment(3), build.segment(2, first=3), build.segment(1, first=5)))
    assert sorted(line.steps) == [1, 2, 3, 4, 5, 6]
    assert sorted(line.snapshots) == [0, 1, 2, 3, 4, 5, 6]


def test_alternating_optimizers_give_two_trainings(build):
    one = [build.segment(1, first=n) for n in range(3)]
    two = [build.segment(1, first=n + 500) for n in range(3)]
    mixed = [segment for pair in zip(one, two, strict=True) for segment in pair]
    lines = trainings(build.trace(*mixed))
    assert [sorted(line.steps) for line in lines] == [[1, 2, 3], [1, 2, 3]]


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
    late = change(whole, steps=[change(s, gn=(7.0).hex()) if s.step == 5 else s for s in whole.steps])
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
