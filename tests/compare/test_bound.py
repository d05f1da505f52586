"""The answer without members: sizes at the step where the runs part, and what becomes of them."""

from zlib import crc32

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.compare import judge
from repro.compare.rounding.unit import limit, roundoff, unit_of

change = msgspec.structs.replace
ULP = 2.0**-24
ORDER = ["identical", "within-rounding", "untested", "beyond-rounding"]
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def against(make_side, train):
    """The verdict of a plain training against one that is apart as asked."""
    return lambda steps=20, **apart: judge(
        make_side([train(steps=steps)], name="a"), make_side([train(steps=steps, **apart)], name="b")
    )


def from_step(first, size):
    return lambda n: size * (n - first + 1) if n >= first else 0.0


# Largest and smallest sizes at the parting that were measured, see data/rounding.toml.
@pytest.mark.parametrize(
    ("apart", "word"),
    [
        ({"weights": from_step(1, 1.5 * ULP), "loss": from_step(1, 3.3 * ULP)}, "within-rounding"),
        ({"weights": from_step(0, 3.4 * ULP), "gradient": from_step(1, 2 * ULP)}, "within-rounding"),
        ({"weights": from_step(1, 2 * ULP), "gradient": lambda n: 130 * ULP * (n == 16)}, "within-rounding"),
        ({"weights": from_step(1, 35 * ULP), "loss": from_step(1, 122 * ULP)}, "untested"),
        ({"weights": from_step(1, 5000 * ULP), "gradient": from_step(1, 28000 * ULP)}, "beyond-rounding"),
        ({"weights": from_step(1, 4000 * ULP), "loss": from_step(1, 170 * ULP)}, "beyond-rounding"),
        ({"weights": from_step(1, 1e-9), "loss": from_step(1, 0.75)}, "beyond-rounding"),
        ({"weights": from_step(1, 1e-4), "loss": lambda n: 0.0}, "beyond-rounding"),
    ],
    ids=["kernels", "init", "late", "tf32 warming up", "bf16", "tf32", "loss alone", "weights alone"],
)
def test_sizes_that_were_measured(against, apart, word):
    verdict = against(**apart)
    assert (verdict.numerics, verdict.basis) == (word, "bound")
    assert any("a-priori bound of rounding, no noise members were there" in said for said in verdict.evidence)
    assert any("--make-reference" in said and "--perturb" in said for said in verdict.evidence)


def test_a_jump_after_rounding_is_left_open(against):
    """One branch that falls the other way: 2e-4 apart at once, of weights that moved by a tenth."""
    verdict = against(weights=lambda n: 2e-4 if n >= 9 else 2 * ULP * n)
    assert verdict.numerics == "untested"
    assert (verdict.envelope.growth, verdict.envelope.jump) == ("jump", 9)


def test_a_jump_by_a_good_part_of_all_movement_is_more(against):
    """As with another momentum: the first step is equal up to rounding, the second is not."""
    verdict = against(weights=lambda n: 0.004 * (n - 1) if n >= 2 else ULP * n)
    assert verdict.numerics == "beyond-rounding"


@pytest.mark.parametrize("first", [20, 40])
def test_runs_that_part_late_are_judged_where_they_part(against, first):
    at_once = against(steps=64, loss=from_step(first, 0.1), weights=from_step(first, 1e-3))
    slowly = against(steps=64, loss=from_step(first, ULP), weights=from_step(first, ULP))
    assert (at_once.numerics, slowly.numerics) == ("beyond-rounding", "within-rounding")
    assert any(f"identical until step {first - 1}" in said for said in at_once.evidence)


def test_equal_until_a_run_ended(make_side, train):
    whole, cut = (
        make_side([train(steps=30)], name="a"),
        make_side([train(steps=18)], name="b", complete=False),
    )
    verdict = judge(whole, cut)
    assert (verdict.verdict, verdict.numerics, verdict.basis) == ("incomplete", "within-rounding", "bits")
    assert any("identical until step 18" in said for said in verdict.evidence)
    short = judge(whole, make_side([train(steps=5)], name="b", complete=False))
    assert (short.verdict, short.numerics) == ("incomplete", "untested")


def changed(train, place, **fields):
    """The plain training with other fields in the step of this number."""
    whole = train().segments[0]
    steps = [change(s, **fields) if s.step == place else s for s in whole.steps.rows()]
    return change(train(), segments=[change(whole, steps=type(whole.steps).of(steps))])


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"idx": "ff", "batch": "01"}, "within-rounding"),
        ({"idx": "ff"}, "beyond-rounding"),
        ({"idx": "ff", "batch": "02"}, "beyond-rounding"),
        ({"idx": "ee", "batch": "02"}, "within-rounding"),
        ({"rng": {"torch": "77"}}, "within-rounding"),
        ({"lr": [(0.1 * (1 + 2e-6)).hex()]}, "beyond-rounding"),
        ({"lr": [(0.1 * (1 + 2**-52)).hex()]}, "untested"),
        ({"skipped": True}, "beyond-rounding"),
        ({"opt": 1}, "beyond-rounding"),
        ({"loss": "nan"}, "beyond-rounding"),
    ],
)
def test_what_rounding_cannot_make(make_side, train, fields, word):
    """Samples count by their content where that is known; a generator's state only with what it changed."""
    a, b = changed(train, 3, idx="ee", batch="01"), changed(train, 3, **{"idx": "ee", **fields})
    if "idx" in fields and "batch" not in fields:
        a = changed(train, 3, idx="ee")
    verdict = judge(make_side([a], name="a"), make_side([b], name="b"))
    assert verdict.numerics == word
    assert verdict.basis == {"beyond-rounding": "bits", "within-rounding": "bits", "untested": "none"}[word]


def test_other_draws_with_other_numbers_are_more_than_rounding(make_side, train):
    a = train()
    whole = train(weights=from_step(1, 40 * ULP), loss=from_step(1, 150 * ULP)).segments[0]
    steps = [change(s, rng={"torch": "77"}) for s in whole.steps.rows()]
    b = change(a, segments=[change(whole, steps=type(whole.steps).of(steps))])
    assert judge(make_side([a], name="a"), make_side([b], name="b")).numerics == "beyond-rounding"


def evaluated(train, build, apart=0.0, mode="eval", step=20, **weights):
    sketch = [(1.0 + apart).hex(), *[(0.0).hex()] * 31]
    one = build.evaluation(
        step,
        calls=1,
        rows=8,
        mode=mode,
        inputs="01",
        outputs=f"{crc32(repr(apart).encode()):08x}",
        norm2=(1.0).hex(),
        sketch=sketch,
    )
    return train(evaluations=[one], **weights)


@pytest.mark.parametrize(
    ("apart", "mode", "word", "basis"),
    [
        (0.8, "eval", "beyond-rounding", "bound"),
        (1e-9, "train", "beyond-rounding", "bits"),
        (5 * ULP, "eval", "within-rounding", "bound"),
        (100 * ULP, "eval", "untested", "bound"),
    ],
)
def test_equal_training_and_another_evaluation(make_side, build, train, apart, mode, word, basis):
    a = make_side([evaluated(train, build)], name="a")
    verdict = judge(a, make_side([evaluated(train, build, apart, mode)], name="b"))
    assert (verdict.numerics, verdict.basis, verdict.first.signal) == (word, basis, "eval")
    assert any("identical until step 20" in said for said in verdict.evidence)


def test_evaluation_may_differ_as_its_weights_do(make_side, build, train):
    a = make_side([evaluated(train, build)], name="a")
    near, far = (
        judge(a, make_side([evaluated(train, build, size, weights=from_step(1, ULP))], name="b"))
        for size in (1e-4, 0.5)
    )
    assert (near.numerics, far.numerics) == ("within-rounding", "beyond-rounding")


def test_metrics_alone_show_another_evaluation(make_side, train):
    a, b = (make_side([train()], name=n, metrics={"acc": x}) for n, x in (("a", 0.9), ("b", 0.7)))
    assert judge(a, b).numerics == "beyond-rounding"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "beyond-rounding"),
        ({"conditions": {"flags.autocast": "cpu bfloat16"}}, "within-rounding"),
        ({"protocol": {"protocol": {"precision": "bf16-autocast"}}}, "within-rounding"),
        (
            {
                "conditions": {
                    "device.type": "cuda",
                    "device.capability": "8.0",
                    "flags.cuda_matmul_allow_tf32": True,
                }
            },
            "within-rounding",
        ),
        (
            {
                "conditions": {
                    "device.type": "cuda",
                    "device.capability": "7.0",
                    "flags.cuda_matmul_allow_tf32": True,
                }
            },
            "beyond-rounding",
        ),
    ],
)
def test_precision_that_both_computed_in_widens_the_bound(make_side, train, fields, word):
    apart = train(weights=lambda n: 3e-6 * n, loss=lambda n: 1e-3, gradient=lambda n: 1e-3)
    assert (
        judge(make_side([train()], name="a", **fields), make_side([apart], name="b", **fields)).numerics
        == word
    )


def test_precision_of_one_side_alone_is_no_rounding(make_side, train):
    low = {"conditions": {"flags.autocast": "cpu bfloat16"}}
    assert unit_of(make_side(**low), make_side(**low)).name == "bfloat16"
    assert unit_of(make_side(**low), make_side()).name == "float32"


def test_units_are_those_of_the_formats():
    found = [roundoff(name) for name in ("float64", "torch.float32", "float16", "bfloat16", "int64")]
    assert found == [2.0**-53, 2.0**-24, 2.0**-11, 2.0**-8, None]
    assert limit("beyond") == 16


@QUIET
@given(
    st.integers(0, 20),
    st.floats(1e-10, 1.0),
    st.floats(1, 1000),
    st.sampled_from(["weights", "loss", "gradient"]),
)
def test_more_difference_never_makes_the_answer_milder(against, first, size, more, signal):
    near, far = (against(**{signal: from_step(first, s)}) for s in (size, size * more))
    assert ORDER.index(far.numerics) >= ORDER.index(near.numerics)


@QUIET
@given(st.integers(0, 20), st.floats(1e-10, 1.0), st.sampled_from(["weights", "loss", "gradient"]))
def test_both_orders_give_one_answer(make_side, train, first, size, signal):
    a, b = make_side([train()], name="a"), make_side([train(**{signal: from_step(first, size)})], name="b")
    one, other = judge(a, b), judge(b, a)
    assert (one.numerics, one.basis, one.first) == (other.numerics, other.basis, other.first)
    assert one.numerics != "identical"
