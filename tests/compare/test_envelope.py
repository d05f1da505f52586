"""The noise envelope: members, ratios, and the rule of inside, outside and between."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.compare import judge

ULP = 2.0**-24
QUIET = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ORDER = ["identical", "within-rounding", "untested", "beyond-rounding"]


def noise(step: int) -> float:
    """As a member moves: one unit in the last place at the start, ten times that at step 16."""
    return ULP * (1 + step * 0.6)


@pytest.fixture
def members(make_side, train):
    def make(count=3, size=noise, **fields):
        return [
            make_side(
                [train(weights=size, way=1 + n, **fields)],
                name=f"member-{n}",
                attempt={"plan": {"perturb": n + 1}},
            )
            for n in range(count)
        ]

    return make


@pytest.fixture
def apart(make_side, train):
    """A candidate that lies at a multiple of what members are apart, step by step."""
    return lambda times, **fields: make_side(
        [train(weights=lambda n: times(n) * noise(n), **fields)], name="b"
    )


@pytest.fixture
def plain(make_side, train):
    return make_side([train()], name="a")


def test_inside_at_every_step_is_within_rounding(plain, apart, members):
    verdict = judge(plain, apart(lambda n: 2.0), members=members())
    assert (verdict.numerics, verdict.basis, verdict.verdict) == (
        "within-rounding",
        "members",
        "within-rounding",
    )
    rows = {row.step: row for row in verdict.envelope.rows}
    assert rows[16].ratio == pytest.approx(2.0)
    assert [step for step, row in rows.items() if row.judged] == [*range(1, 11), 16]
    assert (verdict.envelope.members, verdict.envelope.growth) == (3, "rounding")


@pytest.mark.parametrize(
    ("times", "word"),
    [
        (lambda n: 4.9, "within-rounding"),
        (lambda n: 6.0 if n in (4, 9) else 1.0, "beyond-rounding"),
        (lambda n: 51.0 if n == 7 else 1.0, "beyond-rounding"),
        (lambda n: 49.0 if n == 7 else 1.0, "untested"),
        (lambda n: 1000.0 if n > 16 else 1.0, "within-rounding"),
    ],
    ids=["all below", "two above", "one far above", "one above", "late steps are not judged"],
)
def test_the_rule(plain, apart, members, times, word):
    verdict = judge(plain, apart(times), members=members())
    assert (verdict.numerics, verdict.basis) == (word, "members")


def test_between_asks_for_eight_members(plain, apart, members):
    verdict = judge(plain, apart(lambda n: 6.0 if n == 4 else 1.0), members=members())
    assert any("take 8 members" in said for said in verdict.evidence)


def test_fewer_than_three_members_give_no_answer(plain, apart, members):
    verdict = judge(plain, apart(lambda n: 2.0), members=members(2))
    assert verdict.basis == "bound"
    assert any("2, and 3 are needed" in said for said in verdict.evidence)


def test_members_that_did_not_move_say_nothing_about_rounding(plain, apart, members):
    verdict = judge(plain, apart(lambda n: 2.0), members=members(3, lambda n: 0.0))
    assert verdict.basis == "bound"
    assert all(row.ratio is None for row in verdict.envelope.rows)
    assert any("nothing moved them" in said for said in verdict.evidence)


def test_plain_repeats_count_as_members(plain, apart, make_side, train):
    repeats = [make_side([train(weights=noise, way=1 + n)], name=f"r{n}") for n in range(3)]
    assert judge(plain, apart(lambda n: 2.0), members=repeats).basis == "members"


def test_start_that_differs_by_rounding_already(plain, apart, members):
    verdict = judge(plain, apart(lambda n: 1.5), members=members())
    assert (verdict.first.signal, verdict.first.step) == ("init", 0)
    assert verdict.numerics == "within-rounding"


def test_member_that_starts_elsewhere_is_none(plain, apart, members, make_side, train):
    stranger = make_side([train(weights=lambda n: 0.9, way=9)], name="other-seed")
    verdict = judge(plain, apart(lambda n: 2.0), members=[*members(2), stranger])
    assert verdict.basis == "bound"
    assert any("other-seed is no noise member" in said for said in verdict.evidence)


def test_member_of_another_protocol_is_none(plain, apart, members, make_side, train):
    side = make_side([train(weights=noise)], name="other-code", identity={"tree": "1"})
    verdict = judge(plain, apart(lambda n: 2.0), members=[*members(2), side])
    assert any(
        "other-code is no noise member" in said and "identity.tree" in said for said in verdict.evidence
    )


def test_reference_that_does_not_repeat_makes_no_envelope(plain, apart, members):
    wide = members(3, lambda n: 1e-2 * n)
    verdict = judge(plain, apart(lambda n: 1e-2 * n / noise(n) if n else 0.0), members=wide)
    assert verdict.numerics == "untested"
    assert any("does not repeat up to rounding" in said for said in verdict.evidence)


def test_weights_that_hardly_moved_do_not_hide_other_gradients(plain, members, make_side, train):
    candidate = make_side([train(weights=lambda n: 1e-10 * n, gradient=lambda n: 0.01)], name="b")
    verdict = judge(plain, candidate, members=members())
    assert (verdict.numerics, verdict.basis) == ("untested", "members")
    assert any("hardly moved" in said for said in verdict.evidence)


def test_members_must_reach_to_step_16(plain, apart, members):
    verdict = judge(plain, apart(lambda n: 2.0), members=members(steps=6))
    assert verdict.numerics == "untested"
    assert any("record them to step 16" in said for said in verdict.evidence)


def test_run_that_ended_early_is_judged_as_far_as_it_goes(plain, apart, members):
    far = judge(plain, apart(lambda n: 100.0, steps=4), members=members())
    near = judge(plain, apart(lambda n: 1.0, steps=4), members=members())
    assert (far.numerics, near.numerics) == ("beyond-rounding", "untested")
    assert any("only 4 of the 16 steps" in said for said in near.evidence)


@pytest.mark.parametrize(
    ("size", "growth", "jump"),
    [
        (lambda n: 0.0, "none", None),
        (noise, "rounding", None),
        (lambda n: 1e-3, "jump", 0),
        (lambda n: 3e-4 if n >= 9 else noise(n), "jump", 9),
        (lambda n: ULP * 1.7**n, "rounding", None),
    ],
)
def test_growth_is_a_word_and_the_first_jump(plain, make_side, train, size, growth, jump):
    found = judge(plain, make_side([train(weights=size)], name="b")).envelope
    assert (found.growth, found.jump) == (growth, jump)


@QUIET
@given(
    st.lists(st.floats(0.01, 100), min_size=21, max_size=21),
    st.lists(st.floats(1, 100), min_size=21, max_size=21),
    st.booleans(),
)
def test_more_distance_never_makes_the_answer_milder(plain, apart, members, times, more, held):
    noisy = members() if held else []
    near = judge(plain, apart(lambda n: times[n]), members=noisy)
    far = judge(plain, apart(lambda n: times[n] * more[n]), members=noisy)
    assert ORDER.index(far.numerics) >= ORDER.index(near.numerics)


@QUIET
@given(st.lists(st.just(0.0) | st.floats(1e-3, 1000), min_size=21, max_size=21), st.booleans())
def test_never_identical_on_unequal_bits(plain, apart, members, times, held):
    verdict = judge(plain, apart(lambda n: times[n]), members=members() if held else [])
    assert (verdict.numerics == "identical") == (
        not any(t for n, t in enumerate(times) if n <= 10 or n in (16, 20))
    )
