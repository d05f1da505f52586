"""Laws that hold for any two runs."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.compare import EXIT_STATUS, judge
from repro.model.verdict import NUMERICS, OUTCOMES, SIGNALS

change = msgspec.structs.replace
relaxed = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

floats = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, float("nan"), float("inf"), float("-inf"), 5e-324]),
    st.floats(width=64),
).map(float.hex)
prints = st.sampled_from([f"{n:016x}" for n in range(4)])
maybe = lambda values: st.one_of(st.none(), values)  # noqa: E731
steps = st.fixed_dictionaries(
    {
        "loss": maybe(floats),
        "gn": maybe(floats),
        "idx": maybe(prints),
        "batch": maybe(prints),
        "nb": st.integers(0, 2),
        "lr": maybe(st.lists(floats, min_size=1, max_size=2)),
        "rng": st.dictionaries(st.sampled_from(["torch", "python"]), prints),
        "skipped": st.booleans(),
    }
)
shots = st.fixed_dictionaries(
    {
        "weights": st.lists(prints, max_size=2),
        "buffers": st.lists(prints, max_size=1),
        "state": st.lists(prints, max_size=1),
        "sketch": st.lists(floats, min_size=2, max_size=2),
        "norm2": maybe(floats),
        "nonfinite": st.integers(0, 1),
    }
)
runs = st.fixed_dictionaries(
    {
        "steps": st.lists(steps, max_size=4),
        "shots": st.lists(shots, max_size=5),
        "metrics": st.dictionaries(st.sampled_from(["acc", "loss", "train_seconds"]), floats),
        "rows": st.lists(
            st.fixed_dictionaries(
                {"id": st.integers(0, 3), "prediction": st.integers(0, 1), "correct": st.booleans()}
            ),
            max_size=3,
        ),
        "params": st.dictionaries(
            st.sampled_from(["lr", "seed"]), st.one_of(st.floats(), st.integers(), st.text())
        ),
        "complete": st.booleans(),
        "conditions": st.dictionaries(st.sampled_from(["torch.version", "odd"]), st.integers(0, 1)),
    }
)


def side_of(make_side, build, run):
    found = change(
        build.segment(0),
        steps=build.steps([build.step(n, **fields) for n, fields in enumerate(run["steps"], 1)]),
        snapshots=[build.shot(n, 0, **fields) for n, fields in enumerate(run["shots"])],
    )
    side = make_side(
        [build.trace(found)],
        complete=run["complete"],
        rows=run["rows"],
        params=run["params"],
        conditions=run["conditions"],
    )
    metrics = build.metrics(run["metrics"]) if run["metrics"] else None
    return type(side)(change(side.run, metrics=metrics), side.traces)


@relaxed
@given(run=runs)
def test_a_run_never_differs_from_itself(make_side, build, run):
    side = side_of(make_side, build, run)
    verdict = judge(side, side)
    assert verdict.first is None
    assert verdict.protocol_differences == []
    assert verdict.conditions_that_differ == []
    assert all(signal.first_step is None for signal in verdict.signals.values())
    assert verdict.outcome != "diverged"


@relaxed
@given(x=runs, y=runs)
def test_both_orders_report_the_same(make_side, build, x, y):
    a, b = side_of(make_side, build, x), side_of(make_side, build, y)
    there, back = judge(a, b), judge(b, a)
    for name in ("verdict", "numerics", "outcome", "first", "signals"):
        assert getattr(there, name) == getattr(back, name), name
    assert [(r.key, r.a, r.b) for r in there.conditions_that_differ] == [
        (r.key, r.b, r.a) for r in back.conditions_that_differ
    ]
    assert {r.key for r in there.protocol_differences} == {r.key for r in back.protocol_differences}
    assert len(there.not_controlled) == len(back.not_controlled)


@relaxed
@given(x=runs, y=runs)
def test_identical_only_when_every_common_bit_is_equal(make_side, build, x, y):
    verdict = judge(side_of(make_side, build, x), side_of(make_side, build, y))
    if verdict.numerics == "identical":
        assert x["complete"]
        assert y["complete"]
        assert [s["loss"] for s in x["steps"] if s["loss"]] == [
            s["loss"] for s in y["steps"] if s["loss"]
        ] or any(
            (p["loss"] is None) != (q["loss"] is None) for p, q in zip(x["steps"], y["steps"], strict=True)
        )
        assert len(x["steps"]) == len(y["steps"])
        if x["steps"]:
            assert x["shots"][len(x["steps"])]["weights"] == y["shots"][len(y["steps"])]["weights"]


@relaxed
@given(data=st.data(), run=runs)
def test_one_changed_bit_is_never_identical(make_side, build, data, run):
    """One recorded value becomes another one: the pair is not identical, and the place is named."""
    run = {**run, "complete": True}
    places = [(kind, n) for kind in ("steps", "shots") for n in range(len(run[kind]))]
    if not places:
        return
    kind, n = data.draw(st.sampled_from(places))
    names = {"steps": ["loss", "gn", "idx"], "shots": ["weights", "buffers", "state"]}[kind]
    name = data.draw(st.sampled_from(names))
    old = run[kind][n][name]
    if not old:
        return
    new = data.draw((floats if name in ("loss", "gn") else prints).filter(lambda v: v not in (old, *old)))
    new = [new, *old[1:]] if isinstance(old, list) else new
    other = {**run, kind: [*run[kind][:n], {**run[kind][n], name: new}, *run[kind][n + 1 :]]}
    verdict = judge(side_of(make_side, build, run), side_of(make_side, build, other))
    assert verdict.numerics != "identical"
    if kind == "steps":
        assert verdict.signals[{"loss": "loss", "gn": "gradient", "idx": "samples"}[name]].first_step == n + 1


@relaxed
@given(at=st.integers(1, 4), other=st.integers(1, 4))
def test_nan_equals_nan_at_the_same_step_only(make_side, build, at, other):
    def with_nan(step):
        whole = build.segment()
        steps = [change(s, loss="nan") if s.step == step else s for s in whole.steps.rows()]
        return make_side([build.trace(change(whole, steps=build.steps(steps)))])

    verdict = judge(with_nan(at), with_nan(other))
    assert (verdict.first is None) == (at == other)
    assert (verdict.outcome == "diverged") == (at != other)
    if at != other:
        assert (verdict.first.signal, verdict.first.step) == ("loss", min(at, other))


@relaxed
@given(x=runs, y=runs)
def test_words_are_of_the_closed_lists(make_side, build, x, y):
    verdict = judge(side_of(make_side, build, x), side_of(make_side, build, y))
    assert verdict.verdict in EXIT_STATUS
    assert verdict.numerics in NUMERICS
    assert verdict.outcome in OUTCOMES
    assert set(verdict.signals) <= set(SIGNALS)
    if verdict.first is not None:
        assert verdict.signals[verdict.first.signal].first_step == verdict.first.step
        assert verdict.first.step == pytest.approx(
            min(s.first_step for s in verdict.signals.values() if s.first_step is not None)
        )
