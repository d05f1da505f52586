"""Facts about the two devices and the two releases of torch: waves of random numbers, changes in between."""

import math
from collections.abc import Iterable

from repro.compare.lines.pair import Pair
from repro.compare.side import Side
from repro.tables.changes import Change, between
from repro.tables.gpus import find_gpu

# A wave has 256 * floor(threads / 256) elements for each multiprocessor (numerics_changes.toml).
_BLOCK = 256


def facts(a: Side, b: Side, pair: Pair | None) -> set[str]:
    """What follows from devices, torch versions and hash seeds of both sides."""
    x, y = a.run.conditions, b.run.conditions
    words = set(_devices(str(x.get("device.type")), str(y.get("device.type"))))
    words |= {f"torch change.{kind}" for row in torch_changes(a, b) for kind in row.kind.split("+")}
    words |= {f"torch change:{row.id}" for row in torch_changes(a, b)}
    if x.get("hash_seed") == "random" == y.get("hash_seed"):
        words.add("hash seeds.random")
    if "seed.torch" in x and "seed.torch" in y:
        words.add(f"torch seed.{'equal' if x['seed.torch'] == y['seed.torch'] else 'differs'}")
    return words | set(_waves(wave(a), wave(b), pair)) | set(_orders(x, y)) | set(_seeding(x, y))


def torch_changes(a: Side, b: Side) -> list[Change]:
    """Changes of torch that hold on one side only, those for other cards left out."""
    x, y = a.run.conditions, b.run.conditions
    capability = str(x.get("device.capability") or y.get("device.capability") or "")
    rows = between(
        str(x.get("torch.version", "")),
        str(y.get("torch.version", "")),
        capability,
        str(x.get("torch.cuda", "")),
    )
    return [row for row in rows if capability or not row.applies_to.startswith("cc")]


def wave(side: Side) -> int | None:
    """Elements up to which random numbers on the card are those of a larger one; None without a card."""
    values = side.run.conditions
    if values.get("device.type") != "cuda":
        return None
    card = find_gpu(str(values.get("device.name", "")))
    count, threads = values.get("device.multiprocessors"), card and card.max_threads_per_multiprocessor
    if isinstance(count, int) and threads:  # what the run saw, which may be a slice of the card
        return _BLOCK * count * (threads // _BLOCK)
    return card.rng_wave_elements if card else None


def _devices(x: str, y: str) -> Iterable[str]:
    if x == y:
        yield f"device:{x}"
    else:
        yield "devices.differ"


def _waves(x: int | None, y: int | None, pair: Pair | None) -> Iterable[str]:
    if x is None or y is None or x == y:
        return
    yield "waves.differ"
    shapes = [row.get("shape") or [] for row in pair.a.start.get("params", [])] if pair else []
    if any(math.prod(shape) > min(x, y) for shape in shapes):
        yield "a tensor.above the wave"


def _orders(x: dict[str, object], y: dict[str, object]) -> Iterable[str]:
    name = "order.listing_sorted"
    if name in x and name in y:
        yield f"names listed.{'equal' if x[name] == y[name] else 'differ'}"


def _seeding(x: dict[str, object], y: dict[str, object]) -> Iterable[str]:
    if "seed.untouched" in x and "seed.untouched" in y and x["seed.untouched"] != y["seed.untouched"]:
        yield "seeded after the model.on one side"
