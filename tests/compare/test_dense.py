"""Dense steps of two sides: where a difference arises, and of which kind."""

import math

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.compare import judge
from repro.compare.rounding.dense import ORIGINS, replay
from repro.model.trace import Gradients, ModuleCall, Seen

change = msgspec.structs.replace
ULP = 2.0**-24
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MODULES = ["conv", "norm", "fc"]
PARAMS = ["conv.weight", "norm.weight", "fc.weight", "fc.bias"]


def seen(mark, apart=0.0, *, shape=(32, 64), dtype="float32", **fields):
    """A tensor of norm 1; `apart` is its relative distance from that of `mark` alone."""
    sketch = [(1.0).hex(), float(apart).hex(), *[(0.0).hex()] * 30]
    return Seen(
        f=f"{mark}/{apart!r}", shape=list(shape), dtype=dtype, norm2=(1.0).hex(), sketch=sketch, **fields
    )


def step(number=1, **outputs):
    """Calls of a chain conv, norm, fc in one outermost module; what is apart stays so in all that follows."""
    calls, flowing = [], seen("batch", outputs.get("batch", 0.0))
    outermost = flowing
    for n, name in enumerate(MODULES, 1):
        flowing = seen(f"in-{name}", outputs.get(f"before_{name}", 0.0) or _of(flowing)) if n > 1 else flowing
        out = seen(name, outputs.get(name, 0.0) or _of(flowing))
        calls.append(
            ModuleCall(
                step=number,
                n=n,
                module=name,
                class_=name.title(),
                parent=0,
                weights="w",
                terms=64,
                inputs=[flowing],
                outputs=[out],
            )
        )
        flowing = out
    last = seen("model", outputs.get("model", 0.0) or _of(flowing))
    calls.append(
        ModuleCall(
            step=number,
            n=0,
            module="",
            class_="Net",
            leaf=False,
            weights="w",
            inputs=[outermost],
            outputs=[last],
        )
    )
    return calls


def _of(tensor):
    return float(tensor.f.rpartition("/")[2])


@pytest.fixture
def dense(make_side, build):
    """A side with the calls of a step, and gradients that are apart by name of their parameter."""

    def make(calls, name="d", grads=None, number=1):
        start = {"params": [{"name": p, "shape": [64], "dtype": "float32"} for p in PARAMS], "buffers": []}
        taken = [Gradients(step=number, grads=[seen(p, (grads or {}).get(p, 0.0)) for p in PARAMS])]
        return make_side([build.trace(build.segment(start=start, calls=calls, gradients=taken))], name=name)

    return make


@pytest.fixture
def beside(dense):
    """The replay of a plain step beside one that is apart as asked."""
    return lambda grads=None, **outputs: replay(dense(step()), dense(step(**outputs), grads=grads))


def kinds(found, phase="forward"):
    return {row.module: row.kind for row in found.rows if row.phase == phase}


def test_equal_steps_have_no_origin(beside):
    found = beside()
    assert found.origin is None
    assert set(kinds(found).values()) == set(kinds(found, "backward").values()) == {"equal"}
    assert found.steps == [1]
    assert any("equal in every bit" in note for note in found.notes)


# Tolerance of 64 terms in float32: 8 u + u.
@pytest.mark.parametrize(
    ("apart", "kind", "fits"),
    [
        (2 * ULP, "rounding", []),
        (8.9 * ULP, "rounding", []),
        (25 * ULP, "algorithm", []),  # Winograd: 3.2 u sqrt(k)
        (5e-5, "defect", []),
        (600 * 8 * ULP, "precision", ["tf32", "fp16"]),  # TF32-style inputs
        (2.6e-3, "precision", ["bf16"]),
        (0.5, "defect", []),
    ],
)
def test_kind_of_an_origin_by_its_size(beside, apart, kind, fits):
    found = beside(norm=apart)
    assert (found.origin.module, found.origin.kind, found.origin.fits) == ("norm", kind, fits)
    assert found.origin.relative == pytest.approx(apart)
    assert found.origin.tolerance == pytest.approx(9 * ULP)
    assert kinds(found) == {"conv": "equal", "norm": kind, "fc": "propagated", "": "propagated"}
    assert set(kinds(found, "backward").values()) == {"equal"}


def test_difference_between_two_modules_names_both(beside):
    found = beside(before_fc=3 * ULP)
    assert (found.origin.kind, found.origin.module) == ("functional", "between norm and fc")
    assert found.origin.relative == pytest.approx(3 * ULP)


def test_difference_after_the_last_module_inside(beside):
    found = beside(model=2 * ULP)
    assert (found.origin.kind, found.origin.module) == ("functional", "after fc in the outermost module")


def test_other_inputs_of_the_model_are_no_fault_of_a_module(beside):
    found = beside(batch=0.1)
    assert (found.origin.kind, found.origin.module) == ("functional", "before the outermost module")
    assert {kind for name, kind in kinds(found).items() if name in MODULES} == {"propagated"}


def test_other_weights_count_as_inputs(dense):
    b = [change(call, weights="v") if call.module == "norm" else call for call in step(norm=0.1)]
    found = replay(dense(step()), dense(b))
    assert kinds(found)["norm"] == "propagated"
    assert found.origin is None


@pytest.mark.parametrize("field", [{"nonfinite": 3}, {"shape": [32, 65]}])
def test_nan_on_one_side_and_another_shape_are_defects(dense, field):
    calls = step()
    b = [
        change(c, outputs=[change(c.outputs[0], f="x", **field)]) if c.module == "conv" else c for c in calls
    ]
    assert replay(dense(calls), dense(b)).origin.kind == "defect"


def test_output_in_another_format_is_another_precision(dense):
    calls = step()
    b = [
        change(c, outputs=[change(c.outputs[0], dtype="bfloat16")]) if c.module == "fc" else c for c in calls
    ]
    origin = replay(dense(calls), dense(b)).origin
    assert (origin.kind, origin.fits) == ("precision", ["bf16"])


def test_half_precision_outputs_are_rounded_to_their_format(dense):
    sides = [
        dense([change(c, outputs=[change(o, dtype="bfloat16") for o in c.outputs]) for c in step(conv=apart)])
        for apart in (0.0, 1.7e-3)
    ]
    assert replay(*sides).origin.kind == "rounding"


def test_backward_origin_is_the_gradient_nearest_to_the_loss(beside):
    found = beside(grads={"conv.weight": 3 * ULP, "fc.weight": 2 * ULP, "norm.weight": 3 * ULP})
    assert (found.origin.module, found.origin.phase, found.origin.kind) == (
        "fc.weight",
        "backward",
        "rounding",
    )
    assert kinds(found, "backward") == {
        "conv.weight": "propagated",
        "norm.weight": "propagated",
        "fc.weight": "rounding",
        "fc.bias": "equal",
    }


def test_gradients_follow_a_difference_in_forward(beside):
    found = beside(norm=ULP, grads={"fc.weight": ULP})
    assert found.origin.module == "norm"
    assert kinds(found, "backward")["fc.weight"] == "propagated"


def test_gradient_of_one_side_only_is_a_defect(dense, make_side, build):
    b = dense(step())
    whole = b.traces[0].segments[0]
    cut = [change(g, grads=[None, *g.grads[1:]]) for g in whole.gradients]
    b = make_side([build.trace(change(whole, gradients=cut))])
    assert replay(dense(step()), b).origin.kind == "defect"


def test_micro_batches_are_paired_call_by_call(dense):
    def twice(**second):
        more = [change(c, n=c.n + 4, parent=None if c.parent is None else 4) for c in step(**second)]
        return [*step(), *more]

    found = replay(dense(twice()), dense(twice(fc=ULP)))
    assert [row.kind for row in found.rows if row.module == "fc"] == ["equal", "rounding"]
    assert found.origin.n == 7


def test_module_of_one_side_only_is_told(dense):
    found = replay(dense(step()), dense([call for call in step() if call.module != "norm"]))
    assert any("`norm` was called only in a" in note for note in found.notes)


def test_nothing_in_common_is_said(dense, make_side):
    found = replay(dense(step()), make_side())
    assert (found.origin, found.rows) == (None, [])
    assert any("no dense step" in note for note in found.notes)


def test_dropout_is_told_to_draw(dense):
    sides = [dense([change(c, class_="Dropout") for c in step(norm=apart)]) for apart in (0.0, 0.5)]
    assert any("draws random numbers" in note for note in replay(*sides).notes)


@QUIET
@given(
    st.dictionaries(
        st.sampled_from([*MODULES, "before_fc", "before_norm", "model", "batch"]), st.floats(1e-9, 1)
    )
)
def test_an_origin_never_follows_from_another(dense, apart):
    """Every origin has equal inputs and weights, or is an operation between modules."""
    found = replay(dense(step()), dense(step(**apart)))
    assert (found.origin is None) == (not apart)
    for row in found.rows:
        if row.kind in ORIGINS and row.kind != "functional":
            assert row.inputs_equal
            assert row.weights_equal
            assert not row.outputs_equal
        assert (row.kind == "equal") <= row.outputs_equal
    swapped = replay(dense(step(**apart)), dense(step()))
    assert [(r.module, r.kind) for r in swapped.rows] == [(r.module, r.kind) for r in found.rows]


@QUIET
@given(st.floats(1e-9, 1), st.floats(1, 1e6))
def test_more_difference_is_never_a_milder_kind(beside, apart, more):
    order = ["rounding", "algorithm", "precision", "defect"]
    near, far = beside(conv=apart).origin, beside(conv=apart * more).origin
    if near.kind in order[:2]:
        assert order.index(far.kind) >= order.index(near.kind)
    else:
        assert far.kind in order[2:]
    assert math.isclose(near.relative, apart, rel_tol=0.5)


@pytest.fixture
def verdict(make_side, train, dense):
    """Two runs apart by some units in the last place a step, beside them dense steps, and members or none."""

    def make(units, held, **outputs):
        a = make_side([train()], name="a")
        b = make_side([train(weights=lambda n: units * ULP * n)], name="b")
        members = [
            make_side([train(weights=lambda n: ULP * (1 + n), way=w)], name=f"m{w}") for w in (1, 2, 3)
        ]
        return judge(a, b, members=members if held else [], dense=(dense(step()), dense(step(**outputs))))

    return make


@pytest.mark.parametrize(
    ("units", "held", "apart", "word", "basis"),
    [
        (1, True, ULP, "within-rounding", "members"),
        (1, True, 30 * ULP, "untested", "members"),
        (1, True, 3e-3, "beyond-rounding", "replay"),
        (40, True, 30 * ULP, "beyond-rounding", "members"),
        (1, False, ULP, "within-rounding", "bound"),
        (40, False, ULP, "within-rounding", "replay"),
        (40, False, 30 * ULP, "untested", "bound"),
        (1, False, 3e-3, "beyond-rounding", "replay"),
        (4000, False, ULP, "beyond-rounding", "bound"),
    ],
)
def test_what_a_replay_adds_to_the_ladder(verdict, units, held, apart, word, basis):
    found = verdict(units, held, norm=apart)
    assert (found.numerics, found.basis) == (word, basis)
    assert any("the difference arises in norm (forward)" in said for said in found.evidence)
    assert found.first.module == "norm"


def test_replay_that_shows_nothing_changes_nothing(verdict):
    assert (verdict(40, False).numerics, verdict(40, False).basis) == ("untested", "bound")
    assert verdict(1, True).first.module == ""
