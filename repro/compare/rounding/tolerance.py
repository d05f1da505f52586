"""How far the outputs of one operation may be apart when its inputs are equal: the local tolerance.

Source: divergence.md 3.3. u_acc sqrt(k) + u_out is rounding, up to 16 times that another algorithm.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from repro.compare.rounding.unit import limit, roundoff
from repro.compare.signals.tally import number
from repro.model.trace import Seen

SUMS = 2.0**-24  # float16 and bfloat16 products are added up in float32; float64 in its own
ROUNDING, ALGORITHM, PRECISION, DEFECT = "rounding", "algorithm", "precision", "defect"
# Rounding of both inputs gave 0.58 u for TF32, with the output 0.73 u for bfloat16 [divergence.md 3.3].
FITS = ("tf32", "float16", "bfloat16")
_FROM, _TO = 0.25, 2.0
_SHORT = {"tf32": "tf32", "float16": "fp16", "bfloat16": "bf16"}


@dataclass(frozen=True)
class Judged:
    """Kind of an origin, with the sizes that led to it."""

    kind: str
    relative: float | None
    tolerance: float | None
    fits: tuple[str, ...] = ()


def judge(x: Sequence[Seen], y: Sequence[Seen], terms: int | None) -> Judged:
    """The kind of a difference between tensors that should be equal; that of the worst of them."""
    if len(x) != len(y):
        return Judged(DEFECT, None, None)
    found = [_one(p, q, terms) for p, q in zip(x, y, strict=True) if _what(p) != _what(q)]
    order = (ROUNDING, ALGORITHM, PRECISION, DEFECT)
    return max(
        found,
        key=lambda one: (order.index(one.kind), one.relative or 0.0),
        default=Judged(ROUNDING, 0.0, None),
    )


def same(x: Sequence[Seen], y: Sequence[Seen]) -> bool:
    """Whether tensors are equal in every bit, and in shape and type."""
    return [_what(seen) for seen in x] == [_what(seen) for seen in y]


def apart(x: Seen, y: Seen) -> float | None:
    """Relative distance, estimated from sketches, right within about a quarter; None without a size."""
    texts = (*x.sketch, *y.sketch, x.norm2 or "", y.norm2 or "")
    known = [value for text in texts if (value := number(text)) is not None and math.isfinite(value)]
    half = len(x.sketch)
    if not half or half != len(y.sketch) or len(known) < len(texts):
        return None
    norm = math.sqrt(max(known[-2:]))
    return math.dist(known[:half], known[half : 2 * half]) / norm if norm else None


def tolerance(seen: Seen, terms: int | None) -> float | None:
    """What rounding explains of a relative difference in this output; None for integers and the like."""
    out = roundoff(seen.dtype)
    if out is None:
        return None
    count = terms or (seen.shape[-1] if seen.shape else 1)
    return min(SUMS, out) * math.sqrt(max(count, 1)) + out


def _one(x: Seen, y: Seen, terms: int | None) -> Judged:
    allowed, relative = tolerance(x, terms), apart(x, y)
    if x.shape != y.shape or (x.nonfinite != y.nonfinite):
        return Judged(DEFECT, relative, allowed)
    if x.dtype != y.dtype:
        coarse = max((x.dtype, y.dtype), key=lambda name: roundoff(name) or 0.0).removeprefix("torch.")
        return Judged(PRECISION, relative, allowed, (_SHORT[coarse],) if coarse in _SHORT else ())
    if allowed is None or relative is None:
        return Judged(DEFECT, relative, allowed)
    if relative <= allowed:
        return Judged(ROUNDING, relative, allowed)
    if relative <= limit("beyond") * allowed:
        return Judged(ALGORITHM, relative, allowed)
    fits = tuple(_SHORT[name] for name in FITS if _explains(name, relative))
    return Judged(PRECISION if fits else DEFECT, relative, allowed, fits)


def _explains(name: str, relative: float) -> bool:
    unit = roundoff(name) or 0.0
    return _FROM * unit <= relative <= _TO * unit


def _what(seen: Seen) -> tuple[str, tuple[int, ...], str]:
    return seen.f, tuple(seen.shape), seen.dtype
