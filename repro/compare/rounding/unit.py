"""Which precision a run computed in, as recorded, and how large a difference rounding in it explains."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import inf, prod
from typing import Any

from repro.compare.side import Side

_DECLARED = {
    "bf16": "bfloat16",
    "bf16-autocast": "bfloat16",
    "fp16": "float16",
    "fp16-autocast": "float16",
    "tf32": "tf32",
    "fp64": "float64",
    "fp32": "float32",
}
_FIRST_WITH_TF32 = 8.0  # compute capability; CUDA C++ programming guide
_LOW = ("bfloat16", "float16")


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("repro") / "data" / "rounding.toml").read_text("utf-8"))


def roundoff(dtype: str) -> float | None:
    """Unit roundoff of a floating-point format by its name in torch; None for any other type."""
    found = _table()["units"].get(dtype.removeprefix("torch."))
    return float(found) if found is not None else None


def limit(name: str) -> float:
    """A constant of `data/rounding.toml`."""
    return float(_table()["limit"][name]["value"])


@dataclass(frozen=True)
class Unit:
    """Unit roundoffs of a training.

    Attributes:
        store: format of the weights. sums: format in which sums are added up. out: format of results.
        name: of the format of results, for sentences.
    """

    store: float
    sums: float
    out: float
    name: str

    @property
    def step(self) -> float:
        """Relative difference that rounding explains in a gradient of one step."""
        return limit("sum") * self.sums + limit("depth") * self.out

    def loss(self, size: float, age: int = 1) -> float:
        """The same for a loss of this size; terms near 1 are rounded before they cancel in a small one."""
        return self.step * age + (limit("depth") * self.out / abs(size) if size else inf)

    def weights(self, moved: float, age: int = 1) -> float:
        """The same for weights that moved by this distance, `age` steps after the first difference."""
        return (limit("weights") * self.store + self.step * moved) * age


def unit_of(a: Side, b: Side) -> Unit:
    """The precision of both runs: where they differ in it, the finer one, since a coarser is no rounding."""
    return min((_unit(side) for side in (a, b)), key=lambda unit: (unit.out, unit.store))


def _unit(side: Side) -> Unit:
    stored = _stored(side)
    store = roundoff(stored) or 2.0**-24
    coarse = max((stored, *_policy(side)), key=lambda name: roundoff(name) or 0.0)
    sums = 2.0**-24 if stored in _LOW else store
    return Unit(store, sums, max(store, roundoff(coarse) or 0.0), coarse)


def _stored(side: Side) -> str:
    """The type that most weights have; float32 where none is known."""
    counted: Counter[str] = Counter()
    for tensor in _tensors(side):
        dtype = str(tensor.get("dtype", "")).removeprefix("torch.")
        if roundoff(dtype):
            counted[dtype] += prod(_shape(tensor))
    return max(counted, key=lambda name: counted[name], default="float32")


def _tensors(side: Side) -> Iterator[dict[str, Any]]:
    for trace in side.traces:
        for segment in trace.segments[:1]:
            yield from segment.start.get("params") or []


def _shape(tensor: dict[str, Any]) -> list[int]:
    found = tensor.get("shape")
    return found if isinstance(found, list) and all(isinstance(size, int) for size in found) else []


def _policy(side: Side) -> Iterator[str]:
    """Formats that products are computed in beside that of the weights."""
    autocast = str(side.run.conditions.get("flags.autocast", ""))
    yield from (name for name in _LOW if name in autocast)
    table = side.run.protocol.get("protocol")
    declared = table.get("precision") if isinstance(table, dict) else None
    if isinstance(declared, str) and declared in _DECLARED:
        yield _DECLARED[declared]
    if _uses_tf32(side):
        yield "tf32"


def _uses_tf32(side: Side) -> bool:
    """Whether float32 products ran on tensor cores: on a card that can, with a setting that lets them."""
    known = side.run.conditions
    try:
        able = (
            known.get("device.type") == "cuda"
            and float(known.get("device.capability", 0)) >= _FIRST_WITH_TF32
        )
    except (TypeError, ValueError):
        return False
    convolves = any(len(_shape(tensor)) > 2 for tensor in _tensors(side))
    return able and bool(
        known.get("flags.cuda_matmul_allow_tf32") is True
        or (convolves and known.get("flags.cudnn_allow_tf32") is True)
    )
