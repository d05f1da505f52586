"""Whether the seeds look like chance or like the clock."""

from collections.abc import Iterable

from repro.compare.side import Side
from repro.compare.signals.tally import number

_UNITS = (1.0, 1e3, 1e6, 1e9)  # seconds, milliseconds, microseconds, nanoseconds
_DAY = 86400.0
# torch starts its default generator from 64 bits of chance; programs take a number that one can write down.
_WRITTEN = 1 << 40


def facts(a: Side, b: Side) -> set[str]:
    """`seeds.from the clock`, `seeds.never set` where both sides have a seed of torch that differs."""
    x, y = _seed(a), _seed(b)
    if x is None or y is None or x == y:
        return set()
    return set(_kind(a, b, x, y))


def _kind(a: Side, b: Side, x: int, y: int) -> Iterable[str]:
    if _is_clock(a, x) and _is_clock(b, y):
        yield "seeds.from the clock"
    elif x > _WRITTEN and y > _WRITTEN:
        yield "seeds.never set"
    elif x > _WRITTEN or y > _WRITTEN:
        yield "seeds.set on one side"


def _seed(side: Side) -> int | None:
    seed = side.run.conditions.get("seed.torch")
    return seed if isinstance(seed, int) else None


def _is_clock(side: Side, seed: int) -> bool:
    started = number(side.run.attempt.started)
    if started is None:
        return False
    low_bits = int(started) & 0xFFFFFFFF  # what fits into a seed of 32 bits
    return any(abs(seed - started * unit) < _DAY * unit for unit in _UNITS) or abs(seed - low_bits) < _DAY
