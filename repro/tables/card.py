"""The record of a card, and all cards of the table."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from repro.model.record import Record
from repro.tables.read import table
from repro.tables.toolkits import first_toolkit, last_branch, toolkits

_RENAMED = {
    "capability": "compute_capability",
    "memory_gb": "memory_gb_marketed",
    "memory_mib": "memory_mib_reported",
    "memory_bytes": "memory_bytes_reported",
}


class Gpu(Record, kw_only=True, rename=_RENAMED):
    """A card, or what is common to several that one name stands for.

    Attributes:
        key: name in the table; empty for a card that is not there and was given by its capability.
        capability: `8.0`; chip, architecture: as the maker calls them.
        device_names: as nvidia-smi, NVML and torch print the card; aliases: other names in use.
        stands_for: keys of the products that the name may mean; the figures are then those that all
            of them reach, memory the smallest. Empty for one product.
        mig: profile of a slice, `1g.5gb`, or `MIG`; its memory and multiprocessors are not in the table.
        memory_mib: totals that nvidia-smi prints, the usual one first, then other driver or ECC states.
        memory_bytes: the usual one in bytes, None when unknown.
        rng_wave_elements: CUDA random tensors of one seed are equal on two cards up to the smaller of these.
        *_tflops: the vendor's peak, dense; None where the part has no such unit or it is unknown.
        tensor_formats: what its tensor cores multiply, `bf16`; None when unknown.
        min_driver_branch: first branch that knows the card; last_driver_branch: the last one that does,
            empty when none is named.
        min_cuda_native: first toolkit that makes machine code for the chip.
        source: where the row was read; memory_seen, rates_seen: these were read again for this table.
    """

    key: str
    product: str
    capability: str
    source: str
    architecture: str = ""
    chip: str = ""
    device_names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    stands_for: tuple[str, ...] = ()
    mig: str = ""
    memory_gb: int | None = None
    memory_mib: tuple[int, ...] = ()
    memory_bytes: int | None = None
    memory_type: str = ""
    memory_bandwidth_gb_s: float | None = None
    multiprocessors: int | None = None
    max_threads_per_multiprocessor: int | None = None
    rng_wave_elements: int | None = None
    fp32_tflops: float | None = None
    tf32_tflops: float | None = None
    bf16_tflops: float | None = None
    fp16_tflops: float | None = None
    fp8_tflops: float | None = None
    fp16_fp16_accumulate_tflops: float | None = None
    fp8_fp16_accumulate_tflops: float | None = None
    tensor_formats: tuple[str, ...] | None = None
    ecc: str = ""
    nvlink_gb_s: float | None = None
    mig_max_instances: int | None = None
    tdp_w: int | None = None
    min_cuda_native: str = ""
    min_driver_branch: str = ""
    last_driver_branch: str = ""
    memory_seen: bool = False
    rates_seen: bool = False
    confidence: str = ""
    note: str = ""


@cache
def all_gpus() -> tuple[Gpu, ...]:
    """All cards of the table, oldest capability first; of some only the capability is recorded."""
    full = msgspec.convert(table("gpus")["gpu"], list[Gpu])
    listed = [card for row in table("gpus")["listed"] for card in _listed(row, full)]
    return tuple(sorted([*full, *listed], key=lambda gpu: capability_number(gpu.capability)))


def key_of(product: str) -> str:
    """Key of a product's name: `rtx-2080-ti` for GeForce RTX 2080 Ti."""
    return "-".join(word for word in product.lower().split() if word not in {"geforce", "tesla"})


def capability_number(capability: str) -> tuple[int, ...]:
    """A capability to be compared: (12, 0) for `12.0`."""
    return tuple(int(part) for part in capability.split("."))


def _listed(row: dict[str, Any], full: Sequence[Gpu]) -> Iterator[Gpu]:
    """Cards of a row that names several of one capability."""
    capability = row["compute_capability"]
    for name in row["names"]:
        yield Gpu(
            key=key_of(name),
            product=name,
            capability=capability,
            architecture=row["architecture"],
            device_names=(name, f"NVIDIA {name}"),
            aliases=tuple(row.get("aliases", {}).get(name, ())),
            tensor_formats=tuple(row["tensor_formats"]),
            min_driver_branch=oldest_branch(gpu for gpu in full if gpu.capability == capability),
            min_cuda_native=native_toolkit(capability),
            last_driver_branch=last_branch(capability),
            source=row["source"],
            note=row.get("note", ""),
        )


def oldest_branch(cards: Iterable[Gpu]) -> str:
    """The oldest driver branch that knows one of the cards, `R525`; empty when none is recorded."""
    return min((gpu.min_driver_branch for gpu in cards if gpu.min_driver_branch), default="")


def native_toolkit(capability: str) -> str:
    """First toolkit that makes code for a capability; empty when the oldest in the table already does."""
    oldest, made = next(iter(toolkits().values())), first_toolkit(f"sm_{capability.replace('.', '')}")
    return made.version if made and made is not oldest else ""
