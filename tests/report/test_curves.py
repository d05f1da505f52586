"""From columns of a trace to lines that can be drawn: nothing that stands out is lost."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from repro import report
from repro.compare import Side
from repro.model.run import Attempt, Memory, RunFolder
from repro.model.trace import Segment, StateSnapshot, Step, Steps, Trace
from repro.pipeline.curves import MOST_POINTS, curves, thinned

from .pages import full

MILLION = 1_000_000


@given(arrays(np.float64, st.integers(1, 3000), elements=st.floats(-1e9, 1e9)), st.booleans())
def test_extremes_and_ends_are_kept(values, log):
    line = thinned(np.arange(1, len(values) + 1), values, log=log)
    assert (min(line.low), max(line.high)) == (values.min(), values.max())
    assert line.steps == sorted(set(line.steps))
    assert line.steps[0] == 1
    assert len(line.steps) <= MOST_POINTS
    assert line.broken is None
    assert line.count == len(values)


@pytest.mark.parametrize("log", [False, True])
def test_a_single_spike_among_a_million_steps_is_seen(log):
    values = np.ones(MILLION)
    values[777_777] = 9.0
    line = thinned(np.arange(1, MILLION + 1), values, log=log)
    assert line.high.count(9.0) == 1
    assert len(line.steps) <= MOST_POINTS


def test_what_is_not_finite_is_left_out_and_named():
    line = thinned(np.array([1, 2, 3, 4]), np.array([1.0, np.nan, np.inf, 2.0]))
    assert (line.low, line.broken, line.count) == ([1.0, 2.0], 2, 4)
    nothing = thinned(np.array([5, 6]), np.array([np.nan, np.nan]))
    assert (nothing.steps, nothing.broken) == ([], 5)


def _side(losses: list[float], sketch: float, *, share: float = 0.01) -> Side:
    steps = [Step(step=n, loss=loss.hex(), dt=(0.01 * n).hex()) for n, loss in enumerate(losses, 1)]
    shots = [
        StateSnapshot(step=n, weights=[f"{n}"], norm2=(4.0).hex(), sketch=[(1.0 + sketch * n).hex()])
        for n in range(3)
    ]
    attempt = Attempt(
        schema=1,
        attempt=1,
        status="ok",
        started=(10.0).hex(),
        ended=(12.5).hex(),
        recorder={"share": share.hex()},
    )
    run = RunFolder(
        path="/r",
        folder="/r/attempt-1",
        complete=True,
        attempt=attempt,
        memory=Memory(schema=1, host_bytes=7, allocated_bytes=5),
    )
    return Side(run, [Trace(rank=0, segments=[Segment(start={}, steps=Steps.of(steps), snapshots=shots)])])


def test_curves_of_two_runs_and_a_member():
    a, b = _side([2.0, 1.0, 0.5], 0.0), _side([2.0, 1.5, 0.5], 0.5, share=0.02)
    found = curves(a, b, [_side([2.0, 1.0, 0.5], 0.25)])
    assert found.loss[0].low == [2.0, 1.0, 0.5]
    assert found.gap.high == pytest.approx([0.0, 1 / 3, 0.0])
    assert found.distance.high == pytest.approx([0.0, 0.25, 0.5])
    assert found.members[0].high == pytest.approx([0.0, 0.125, 0.25])
    assert found.step_seconds[0].high == pytest.approx([0.01, 0.02, 0.03])
    used = found.usage[1]
    assert (used.steps, used.seconds, used.share, used.host_bytes, used.allocated_bytes) == (
        3,
        2.5,
        0.02,
        7,
        5,
    )
    assert used.step_seconds == pytest.approx(0.02)
    assert used.reserved_bytes is None


def test_runs_without_a_trace_still_have_time_and_memory():
    bare = Side(_side([1.0], 0.0).run)
    found = curves(bare, bare)
    assert (found.usage[0].seconds, found.loss[0].steps, found.part) == (2.5, [], "")


def test_a_page_of_million_step_traces_is_small():
    rng = np.random.default_rng(0)
    numbers = np.arange(1, MILLION + 1)
    line = thinned(numbers, rng.random(MILLION) + 0.5)
    made = curves(_side([1.0, 2.0], 0.0), _side([1.0, 2.0], 0.1))

    long = msgspec.structs.replace(
        made,
        loss=(line, line),
        gap=thinned(numbers, rng.random(MILLION), log=True),
        step_seconds=(line, line),
    )
    assert len(report.html(full(), long).encode()) < 300_000
