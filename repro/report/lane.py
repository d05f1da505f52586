"""Small drawings in a row of a table: how long a signal is equal, an interval beside its margin."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from repro.model.verdict import SIGNALS, ModuleRow, Statistic, Verdict
from repro.report import chart
from repro.report.chart import Axis
from repro.report.plot import Mark

WIDTH, HEIGHT = 180, 24
_RIGHT, _MIDDLE = 174, 12
_KNOT = 10


@dataclass(frozen=True)
class Lane:
    """What is drawn in a row: a track, and for a rung of the ladder a knot on the rail before it."""

    track: list[Mark]
    knot: list[Mark] = field(default_factory=list)


def signals(verdict: Verdict, last: int) -> list[Lane]:
    """One rung a signal: a knot (equal, differs, not recorded), and its steps, equal and then not."""
    x = Axis(0, max(last, 1), 0, WIDTH, log=True, one=True)
    rungs = []
    for place, name in enumerate(SIGNALS):
        signal = verdict.signals.get(name)
        rail = _rail(place, len(SIGNALS))
        if signal is None:
            rungs.append(Lane([], [rail, Mark("knot-none", _ring(_KNOT))]))
        elif signal.first_step is None:
            rungs.append(Lane([_track("track-good", 0, WIDTH)], [rail, Mark("knot-good", _ring(_KNOT))]))
        else:
            at = x.at(signal.first_step)
            tracks = [_track("track-good", 0, at), _track("track-bad", at, WIDTH)]
            rungs.append(Lane(tracks, [rail, Mark("knot-bad", _diamond(_KNOT))]))
    return rungs


def intervals(rows: Sequence[Statistic]) -> list[Lane]:
    """The 90 % interval of a difference: the margin as a region, zero as a line, the difference as a dot."""
    return [Lane(_interval(row)) for row in rows]


def flips(bounds: Sequence[tuple[float, float]]) -> list[Lane]:
    """Counts, or ranges of counts, on one scale from 0."""
    x = Axis(0, max((high for _, high in bounds), default=0) or 1, 6, _RIGHT)
    looks = ["bar-b", *["bar-member"] * (len(bounds) - 1)]
    return [
        Lane([_track("axis", 6, _RIGHT), _track(look, x.at(low) if low != high else 6, x.at(high))])
        for look, (low, high) in zip(looks, bounds, strict=True)
    ]


def tolerances(rows: Sequence[ModuleRow]) -> list[Lane]:
    """Relative difference as a bar beside what rounding explains as a mark, on one logarithmic scale."""
    known = [v for row in rows for v in (row.relative, row.tolerance) if v]
    x = chart.around(known, log=True, begin=6, end=_RIGHT)
    return [Lane(_tolerance(row, x) if x else []) for row in rows]


def _tolerance(row: ModuleRow, x: Axis) -> list[Mark]:
    marks = [_track("axis", 6, _RIGHT)]
    if row.relative:
        outside = row.tolerance is not None and row.relative > row.tolerance
        marks.append(_track("bar-bad" if outside else "bar-good", 6, x.at(row.relative)))
    if row.tolerance:
        marks.append(_upright("limit", x.at(row.tolerance)))
    return marks


def _interval(row: Statistic) -> list[Mark]:
    ends = [row.difference, 0.0, *(v for v in (row.low, row.high) if v is not None)]
    ends += [row.margin, -row.margin] if row.margin else []
    x = chart.around(ends, log=False, begin=6, end=_RIGHT)
    if x is None:
        return []
    marks = [_margin(x, row.margin)] if row.margin else []
    marks += [_track("axis", 6, _RIGHT), _upright("zero", x.at(0.0))]
    if row.low is not None and row.high is not None:
        marks.append(_track("interval", x.at(row.low), x.at(row.high)))
    return [*marks, Mark("knot-b", _ring(x.at(row.difference)))]


def _margin(x: Axis, margin: float) -> Mark:
    left, right = x.at(-margin), x.at(margin)
    return Mark("margin", chart.area([(left, 2), (right, 2)], [(left, HEIGHT - 2), (right, HEIGHT - 2)]))


def _track(look: str, left: float, right: float) -> Mark:
    return Mark(look, chart.line([(left, _MIDDLE), (right, _MIDDLE)]))


def _upright(look: str, at: float) -> Mark:
    return Mark(look, chart.line([(at, 3), (at, HEIGHT - 3)]))


def _rail(place: int, of: int) -> Mark:
    top, bottom = _MIDDLE if place == 0 else 0, _MIDDLE if place == of - 1 else HEIGHT
    return Mark("rail", chart.line([(_KNOT, top), (_KNOT, bottom)]))


def _ring(at: float) -> str:
    return f"{chart.line([(at - 5, _MIDDLE)])}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z"


def _diamond(at: float) -> str:
    return f"{chart.line([(at - 6, _MIDDLE), (at, _MIDDLE - 6), (at + 6, _MIDDLE), (at, _MIDDLE + 6)])}Z"
