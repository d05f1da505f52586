"""Axes, ticks and small drawings, by their numbers."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.model.curves import Curves, Line
from repro.model.verdict import Envelope, EnvelopeRow, Signal
from repro.report import chart, lane, plot
from repro.report.chart import Axis

from .pages import curves, full

positive = st.floats(1e-12, 1e12)


@given(st.lists(positive, min_size=1, max_size=20))
def test_a_logarithmic_axis_holds_all_values_in_order(values):
    axis = chart.around(values, log=True, begin=200, end=20)
    places = [axis.at(value) for value in sorted(values)]
    assert places == sorted(places, reverse=True)
    assert all(20 <= place < 200 for place in places)
    assert axis.at(0) == 200  # where equal runs lie
    assert all(20 <= at <= 200 for at, _ in axis.ticks)
    assert 2 <= len(axis.ticks) <= 8


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_an_even_axis_holds_all_values_in_order(values):
    axis = chart.around(values, log=False, begin=0, end=100)
    places = [axis.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert 1 <= len(axis.ticks) <= 8


@given(st.integers(0, 10), st.integers(11, 10**7))
def test_a_step_axis_has_a_place_for_step_0(first, last):
    axis = Axis(first, last, 10, 100, log=True, one=True)
    assert (axis.at(first), axis.at(last)) == (10, 100)
    assert len({at for at, _ in axis.ticks}) == len(axis.ticks)


def test_labels_are_round_numbers():
    assert [label for _, label in Axis(0, 504, 0, 100, log=True, one=True).ticks] == ["0", "1", "10", "100"]
    assert [label for _, label in Axis(1, 504, 0, 100).ticks] == ["100", "200", "300", "400", "500"]
    assert [label for _, label in Axis(1e-7, 1e-2, 0, 100, log=True).ticks][-1] == "0.01"
    assert [label for _, label in Axis(0.003, 0.02, 0, 100, log=True).ticks] == ["0.005", "0.01", "0.02"]


@pytest.mark.parametrize("values", [[], [math.nan], [0.0, 0.0], [math.inf]])
def test_nothing_to_show_gives_no_axis(values):
    assert chart.around(values, log=True, begin=0, end=1) is None


def test_all_four_drawings():
    drawn = plot.plots(full().envelope, curves())
    assert [one.key for one in drawn] == ["distance", "gap", "loss", "time"]
    looks = [mark.look for mark in drawn[0].marks]
    assert {"judged", "band", "factor", "b", "dots-b"} <= set(looks)
    assert looks.count("member") == 3
    assert all("nan" not in mark.path and "inf" not in mark.path for one in drawn for mark in one.marks)


def test_a_run_that_breaks_is_marked():
    a = Line(steps=[1, 2, 3], low=[3.0, 2.0, 1.0], high=[3.0, 2.0, 1.0], count=3)
    b = Line(steps=[1], low=[3.0], high=[3.0], count=3, broken=2)
    (drawn,) = plot.plots(None, Curves(loss=(a, b)))
    assert [mark.words for mark in drawn.marks if mark.words] == ["b: NaN or infinite from step 2"]


def test_equal_runs_have_no_distance_to_draw():
    rows = [EnvelopeRow(step=step, distance=0.0) for step in range(4)]
    assert plot.plots(Envelope(growth="none", rows=rows), Curves()) == []
    unknown = [EnvelopeRow(step=step, distance=None) for step in range(4)]
    assert plot.plots(Envelope(rows=unknown), None) == []


def test_a_rung_says_equal_differs_or_absent():
    rungs = lane.signals(full(), 504)
    looks = [[mark.look for mark in rung.knot] for rung in rungs]
    assert [look[-1] for look in looks] == ["knot-good"] * 3 + ["knot-bad"] * 5 + ["knot-none"]
    assert [mark.look for mark in rungs[0].track] == ["track-good"]
    assert [mark.look for mark in rungs[3].track] == ["track-good", "track-bad"]
    assert rungs[8].track == []


def test_a_track_begins_to_differ_where_the_signal_does():

    signals = {"loss": Signal(compared=9, first_step=9), "init": Signal(compared=9, first_step=0)}
    verdict = msgspec.structs.replace(full(), signals=signals)
    rungs = lane.signals(verdict, 99)
    assert rungs[0].track[-1].path == "M0 12L180 12"
    assert rungs[4].track[-1].path == "M90 12L180 12"  # log(1 + 9) is half of log(1 + 99)


def test_an_interval_is_drawn_beside_its_margin():
    marks = lane.intervals(full().statistics)
    assert [mark.look for mark in marks[0].track] == ["margin", "axis", "zero", "interval", "knot-b"]
    assert [mark.look for mark in marks[1].track] == ["axis", "zero", "knot-b"]
