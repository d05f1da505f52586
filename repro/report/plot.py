"""What is drawn of two runs: distance of the weights, gap of the losses, losses, time of a step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from repro.model.curves import Curves, Line
from repro.model.verdict import Envelope
from repro.report import chart, values
from repro.report.chart import Axis, Point

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 54, 448, 22, 222
_JUDGED = (1, 16)
_MOST_MEMBERS = 8


@dataclass(frozen=True)
class Mark:
    """A path with a class that says how it looks, or words at a place."""

    look: str
    path: str = ""
    words: str = ""
    at: Point = (0, 0)


@dataclass(frozen=True)
class Plot:
    """A drawing with its axes; `told` says the same in words, for those who do not see it."""

    key: str
    title: str
    told: str
    x: Axis
    y: Axis
    across: str
    up: str
    marks: list[Mark]
    legend: list[tuple[str, str]] = field(default_factory=list)


def plots(envelope: Envelope | None, curves: Curves | None) -> list[Plot]:
    """All drawings that there are numbers for, the distance of the weights first."""
    given = curves or Curves()
    found = [_distance(envelope, given), _gap(given), _losses(given), _times(given)]
    return [plot for plot in found if plot]


def _distance(envelope: Envelope | None, curves: Curves) -> Plot | None:
    rows = [row for row in envelope.rows if row.distance is not None] if envelope else []
    own = (
        Line(steps=[r.step for r in rows], high=[r.distance or 0.0 for r in rows])
        if rows
        else curves.distance
    )
    most = [(r.step, r.envelope) for r in rows if r.envelope is not None]
    factor = envelope.factor if envelope else 1.0
    x = _log_steps([own, *curves.members])
    reach = [*own.high, *(v for m in curves.members for v in m.high), *(factor * v for _, v in most)]
    y = _up(reach, log=True)
    if x is None or y is None:
        return None
    marks = [*_window(x), *_band(most, factor, x, y)]
    marks += [_curve("member", member, x, y) for member in curves.members[:_MOST_MEMBERS]]
    marks += [_curve("b", own, x, y), Mark("dots-b", _dots(_points(own, x, y)))]
    legend = [("b", "b from a")]
    legend += [("member", "noise members of a")] if most or curves.members else []
    legend += [("factor", f"{factor:g} times the largest of them")] if most else []
    told = f"Relative distance of the weights from {_first(own)} to {_last(own)}, on logarithmic axes."
    return Plot("distance", "Distance of the weights", told, x, y, "step", "relative", marks, legend)


def _gap(curves: Curves) -> Plot | None:
    gap = curves.gap
    x, y = _log_steps([gap]), _up(gap.high, log=True)
    if x is None or y is None:
        return None
    marks = [*_window(x), _curve("b", gap, x, y)]
    told = f"Relative difference of the losses, at most {values.size(max(gap.high))}, on logarithmic axes."
    return Plot("gap", "Difference of the losses", told, x, y, "step", "relative", marks)


def _losses(curves: Curves) -> Plot | None:
    a, b = curves.loss
    plot = _two("loss", "Loss", "loss", a, b, log=all(v > 0 for line in (a, b) for v in line.low))
    if plot is None:
        return None
    broken = [(name, line.broken) for name, line in (("a", a), ("b", b)) if line.broken is not None]
    for row, (name, step) in enumerate(broken):
        words = f"{name}: NaN or infinite from step {step}"
        plot.marks.append(
            Mark(f"broken-{name}", chart.line([(plot.x.at(step), TOP), (plot.x.at(step), BOTTOM)]))
        )
        plot.marks.append(Mark("note", words=words, at=(RIGHT - 4, TOP + 14 + 14 * row)))
    return plot


def _times(curves: Curves) -> Plot | None:
    a, b = curves.step_seconds
    return _two(
        "time", "Time of a step", "seconds", a, b, log=all(v > 0 for line in (a, b) for v in line.low)
    )


def _two(key: str, title: str, up: str, a: Line, b: Line, *, log: bool) -> Plot | None:
    """The curves of both runs over steps that are spaced evenly; a lies below b and is broader."""
    reach = [value for line in (a, b) for value in (*line.low, *line.high)]
    y = _up(reach, log=log)
    steps = [step for line in (a, b) for step in line.steps]
    if y is None or len(set(steps)) < 2:
        return None
    x = Axis(min(steps), max(steps), LEFT, RIGHT)
    marks = [Mark("a broad", _swing(a, x, y)), Mark("b", _swing(b, x, y))]
    scale = "a logarithmic" if log else "an even"
    both = f"run a from {_first(a)} to {_last(a)}, of run b from {_first(b)} to {_last(b)}"
    told = f"{title} of {both}, on {scale} axis."
    return Plot(key, title, told, x, y, "step", up, marks, [("a", "a"), ("b", "b")])


def _window(x: Axis) -> list[Mark]:
    """The steps that a judge goes by, as a region with its name."""
    left, right = x.at(_JUDGED[0]), x.at(min(_JUDGED[1], x.high))
    if right <= left:
        return []
    corners = chart.area([(left, TOP), (right, TOP)], [(left, BOTTOM), (right, BOTTOM)])
    return [
        Mark("judged", corners),
        Mark("note middle", words="steps 1 to 16", at=((left + right) / 2, TOP - 6)),
    ]


def _band(most: Sequence[tuple[int, float]], factor: float, x: Axis, y: Axis) -> list[Mark]:
    upper = [(x.at(step), y.at(value)) for step, value in most]
    limit = [(x.at(step), y.at(factor * value)) for step, value in most]
    ground: list[Point] = [(place, BOTTOM) for place, _ in upper]
    if not most:
        return []
    return [Mark("band", chart.area(upper, ground)), Mark("factor", chart.line(limit))]


def _log_steps(lines: Sequence[Line]) -> Axis | None:
    steps = [step for line in lines for step in line.steps]
    return Axis(min(steps), max(steps), LEFT, RIGHT, log=True, one=True) if len(set(steps)) > 1 else None


def _up(reach: Sequence[float], *, log: bool) -> Axis | None:
    return chart.around(reach, log=log, begin=BOTTOM, end=TOP)


def _points(line: Line, x: Axis, y: Axis) -> list[Point]:
    return [(x.at(step), y.at(value)) for step, value in zip(line.steps, line.high, strict=True)]


def _curve(look: str, line: Line, x: Axis, y: Axis) -> Mark:
    return Mark(look, chart.line(_points(line, x, y)))


def _swing(line: Line, x: Axis, y: Axis) -> str:
    """Path data from the lowest to the highest value of each stretch."""
    points: list[Point] = []
    for step, low, high in zip(line.steps, line.low, line.high, strict=True):
        place = x.at(step)
        points += [(place, y.at(low))] if low == high else [(place, y.at(low)), (place, y.at(high))]
    return chart.line(points)


def _dots(points: Sequence[Point]) -> str:
    """Lines of no length: with round ends they are dots."""
    return "".join(f"{chart.line([point])}h0" for point in points)


def _first(line: Line) -> str:
    return values.size(next(iter(line.high), None))


def _last(line: Line) -> str:
    return values.size(line.high[-1] if line.high and math.isfinite(line.high[-1]) else None)
