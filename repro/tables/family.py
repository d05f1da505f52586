"""What several cards have in common, when a name stands for all of them or only a capability is known."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from repro.tables.card import Gpu, all_gpus, key_of, native_toolkit, oldest_branch
from repro.tables.toolkits import last_branch


def family(cards: Sequence[Gpu]) -> Gpu:
    """What several products of one capability have in common, under the words that all their names share."""
    products = [gpu.product.split() for gpu in cards]
    shared = [word for word in products[0] if all(word in other for other in products)]
    name = " ".join(word for word in shared if word != "Edition")
    note = (
        f"one of {len(cards)} products: {', '.join(gpu.product for gpu in cards)}; figures are the smallest"
    )
    return _common(
        cards, key=key_of(name), product=name, stands_for=tuple(gpu.key for gpu in cards), note=note
    )


def slice_of(card: Gpu, profile: str) -> Gpu:
    """A slice of a card, MIG or virtual: the same code runs on it; how much of the rest it has is unknown."""
    less = {name: None for name in _LEAST if name not in {"min_driver_branch", "mig_max_instances"}}
    kind = "vGPU" if profile == "vGPU" else "MIG"
    return replace(card, **less, product=f"{card.product} {kind}", mig=profile, memory_mib=(),
                   multiprocessors=None, rng_wave_elements=None)  # fmt: skip


def unusual(name: str, cards: Sequence[Gpu]) -> Gpu:
    """A known model with a memory that the table does not have: everything but the memory is known."""
    unrecorded = cards[0].memory_bytes is None
    note = cards[0].note if unrecorded else "no such card with that memory is in the table"
    common = cards[0] if len(cards) == 1 else _common(cards, key="")
    return replace(common, key=common.key if unrecorded else "", product=name.strip(), note=note,
                   memory_gb=None, memory_mib=(), memory_bytes=None)  # fmt: skip


def described(name: str, capability: str, known: Gpu | None) -> Gpu:
    """A card that only its capability describes; `known` is what the table has under the name instead."""
    note = f"the table has {known.product} at {known.capability}" if known else "known by its capability only"
    alike = [gpu for gpu in all_gpus() if gpu.capability == capability]
    return Gpu(
        key="",
        product=name or f"card of compute capability {capability}",
        capability=capability,
        architecture=_agreed([gpu.architecture for gpu in alike], ""),
        tensor_formats=_formats(alike),
        min_driver_branch=oldest_branch(alike),
        min_cuda_native=native_toolkit(capability),
        last_driver_branch=last_branch(capability),
        source="as given",
        note=note,
    )


def _common(cards: Sequence[Gpu], **said: Any) -> Gpu:
    """A card with the figures that all of several reach, and what else they agree in."""
    figures = {name: least([getattr(gpu, name) for gpu in cards]) for name, least in _LEAST.items()}
    shared = {
        field.name: _agreed([getattr(gpu, field.name) for gpu in cards], field.default)
        for field in msgspec.structs.fields(Gpu)
        if not field.required and field.name not in {*figures, *said, *_OF_ONE}
    }
    sources = "; ".join(dict.fromkeys(gpu.source for gpu in cards))
    smallest = min(cards, key=lambda gpu: gpu.memory_bytes or 0)
    said |= {"memory_mib": smallest.memory_mib, "tensor_formats": _formats(cards)}
    return Gpu(
        **{"product": "", "capability": cards[0].capability, "source": sources, **shared, **figures, **said}
    )


def _smallest(values: Sequence[Any]) -> Any:
    """The smallest value; None when one is unknown."""
    return None if None in values else min(values)


def _agreed(values: Sequence[Any], otherwise: Any) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else otherwise


def _formats(cards: Sequence[Gpu]) -> tuple[str, ...] | None:
    """Formats that all cards multiply; None when there is no card to say it."""
    known = [gpu.tensor_formats for gpu in cards if gpu.tensor_formats is not None]
    return tuple(name for name in known[0] if all(name in other for other in known)) if known else None


_RATES = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp16_fp16_accumulate", "fp8_fp16_accumulate")
_LEAST: dict[str, Callable[[Sequence[Any]], Any]] = {
    "memory_gb": _smallest,
    "memory_bytes": _smallest,
    "memory_bandwidth_gb_s": _smallest,
    "nvlink_gb_s": _smallest,
    "mig_max_instances": _smallest,
    **{f"{kind}_tflops": _smallest for kind in _RATES},
    "min_driver_branch": min,
}
_OF_ONE = {"device_names", "aliases", "stands_for", "mig", "memory_mib", "tensor_formats"}
