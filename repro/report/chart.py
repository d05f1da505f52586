"""Axes and shapes of a drawing: numbers in, positions and path data out, the same text for the same input."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]
_MOST_TICKS = 6


@dataclass(frozen=True)
class Axis:
    """Maps values from `low` to `high` onto pixels from `begin` to `end`.

    Attributes:
        log: logarithmic; what is not above 0 then lies at `begin`, where a gap sets it apart from the rest.
        one: for logarithmic steps: log(1 + step), so that step 0 has a place.
    """

    low: float
    high: float
    begin: float
    end: float
    log: bool = False
    one: bool = False

    def at(self, value: float) -> float:
        """Pixel of a value; outside ones lie on the border."""
        if self.log and value <= 0 and not self.one:
            return self.begin
        low, high = self._scaled(self.low), self._scaled(self.high)
        part = (self._scaled(value) - low) / (high - low) if high > low else 0.5
        part = min(max(part, 0.0), 1.0)
        start = self.begin + self._gap * (self.end - self.begin)
        return round(start + part * (self.end - start), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions with their labels, at round values."""
        marks = self._decades() if self.log else self._even()
        return [(self.at(value), _label(value)) for value in marks]

    @property
    def _gap(self) -> float:
        return 0.06 if self.log and not self.one else 0.0

    def _scaled(self, value: float) -> float:
        if not self.log:
            return value
        return math.log10(value + 1) if self.one else math.log10(value)

    def _decades(self) -> list[float]:
        first, last = self._scaled(self.low), self._scaled(self.high)
        every = max(1, math.ceil((last - first) / _MOST_TICKS))
        powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
        found = [10.0**power for power in powers if power % every == 0]
        if self.one:
            return [0.0, *found] if self.low == 0 else found
        return found if len(found) > 2 else self._between()

    def _between(self) -> list[float]:
        """Within few decades: 1, 2 and 5 of each, or even steps where that is too coarse."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [m * 10.0**power for power in powers for m in (1, 2, 5)]
        found = [value for value in found if self.low <= value <= self.high]
        return found if len(found) > 1 else self._even()

    def _even(self) -> list[float]:
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        step = 10.0 ** math.floor(math.log10(span))
        step = next(s for s in (step / 5, step / 2, step, step * 2) if span / s <= _MOST_TICKS)
        first = math.ceil(self.low / step - 1e-9)
        return [
            round(step * n, 12)
            for n in range(first, first + _MOST_TICKS + 2)
            if step * n <= self.high + 1e-9 * span
        ]


def around(values: Iterable[float], *, log: bool, begin: float, end: float) -> Axis | None:
    """An axis that holds all values; None when there is nothing to show (on a log axis: nothing above 0)."""
    known = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not known:
        return None
    low, high = min(known), max(known)
    if log:
        decades = math.log10(high / low)
        pad = 10 ** max(0.04 * decades, 0.1)
        return Axis(low / pad, high * pad, begin, end, log=True)
    pad = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return Axis(low - pad, high + pad, begin, end)


def line(points: Sequence[Point]) -> str:
    """Path data through the points."""
    return "M" + "L".join(f"{_pixel(x)} {_pixel(y)}" for x, y in points) if points else ""


def area(upper: Sequence[Point], lower: Sequence[Point]) -> str:
    """Path data of the region between two curves that run in the same direction."""
    return f"{line([*upper, *reversed(lower)])}Z" if upper and lower else ""


def _pixel(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _label(value: float) -> str:
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.6g}"
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"1e{int(power)}" if mantissa == "1" else f"{mantissa}e{int(power)}"
