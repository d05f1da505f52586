"""Cards as text and as documents, for `repro gpus`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from repro.model.record import Json
from repro.report import lay, values
from repro.tables.gpus import Gpu, capability_number

_FIGURES = (
    ("fp32", "fp32_tflops"),
    ("tf32", "tf32_tflops"),
    ("bf16", "bf16_tflops"),
    ("fp16", "fp16_tflops"),
    ("fp8", "fp8_tflops"),
)
_HEAD = ("name", "capability", "MiB", "GB/s", "also called")


def list_document(cards: Sequence[Gpu]) -> Json:
    """All cards, for `--json`."""
    return {"cards": [msgspec.structs.asdict(card) for card in cards]}


def card_document(card: Gpu, products: Sequence[Gpu]) -> Json:
    """One card, and the products that its name stands for."""
    return {"card": msgspec.structs.asdict(card), "products": list_document(products)["cards"]}


def list_text(cards: Sequence[Gpu], *, width: int = 100) -> str:
    """Cards with their figures, then those of which only the capability is recorded."""
    full = [card for card in cards if card.memory_bytes is not None]
    rest = [card for card in cards if card.memory_bytes is None]
    lines = ["memory as nvidia-smi prints it; any spelling of a name is understood", ""]
    lines += _table(full)
    if rest:
        lines += ["", "of these only the compute capability is recorded", ""]
    for capability in sorted({card.capability for card in rest}, key=capability_number):
        names = ", ".join(card.product for card in rest if card.capability == capability)
        lines += lay.field(capability, names, width)
    return "\n".join(lines)


def card_text(card: Gpu, products: Sequence[Gpu], *, width: int = 100) -> str:
    """One card with all that is known of it; what is not known is left out or said."""
    made = " ".join(word for word in (card.architecture, card.chip) if word)
    capability = f"compute capability {card.capability}"
    head = card.product if card.product.endswith(capability) else f"{card.product}: {capability}"
    lines = [f"{head} ({made})" if made else head]
    for name, words in _facts(card):
        lines += lay.field(name, words, width) if words else []
    if products:
        lines += ["", "stands for", "", *_table(products)]
    return "\n".join(lines)


def _facts(card: Gpu) -> list[tuple[str, str]]:
    units = card.multiprocessors
    return [
        ("name", card.key),
        ("slice", f"MIG {card.mig.removeprefix('MIG')}".strip() if card.mig else ""),
        ("memory", _memory(card)),
        ("bandwidth", f"{card.memory_bandwidth_gb_s:g} GB/s" if card.memory_bandwidth_gb_s else ""),
        ("units", f"{units} multiprocessors" if units else ""),
        ("peak", _rates(card)),
        ("tensor", _formats(card)),
        ("driver", _drivers(card)),
        ("CUDA", f"machine code from {card.min_cuda_native} on" if card.min_cuda_native else ""),
        ("names", ", ".join(_names(card)) if card.key else ""),
        ("note", card.note),
        ("source", card.source),
    ]


def _memory(card: Gpu) -> str:
    if not card.memory_mib:
        return "unknown; nvidia-smi on the machine prints it"
    usual, *other = card.memory_mib
    said = f"{usual} MiB ({values.bytes_(card.memory_bytes)})"
    least = "at least " if card.stands_for else ""
    states = f"; in other driver or ECC states {', '.join(map(str, other))}" if other else ""
    return f"{least}{said}{states}"


def _rates(card: Gpu) -> str:
    known = [(name, getattr(card, field)) for name, field in _FIGURES]
    rates = ", ".join(f"{name} {rate:g}" for name, rate in known if rate is not None)
    return f"{rates} TFLOP/s, dense, by the vendor" if rates else ""


def _formats(card: Gpu) -> str:
    if card.tensor_formats is None:
        return ""
    return ", ".join(card.tensor_formats) or "none"


def _drivers(card: Gpu) -> str:
    first, last = card.min_driver_branch, card.last_driver_branch
    said = [f"from {first} on" if first else "", f"{last} is the last branch" if last else ""]
    return ", ".join(word for word in said if word)


def _names(card: Gpu) -> list[str]:
    """Product and other names, each spelling once."""
    shown: dict[str, str] = {card.key.casefold(): ""}
    for name in (card.product, *card.device_names, *card.aliases):
        shown.setdefault(name.removeprefix("NVIDIA ").casefold(), name)
    return [name for name in shown.values() if name]


def _table(cards: Sequence[Gpu]) -> list[str]:
    rows: list[tuple[Any, ...]] = [_HEAD]
    for card in cards:
        memory = str(card.memory_mib[0]) if card.memory_mib else "-"
        speed = f"{card.memory_bandwidth_gb_s:g}" if card.memory_bandwidth_gb_s else "-"
        rows.append((card.key, card.capability, memory, speed, ", ".join(_names(card))))
    return lay.columns(rows, right=(2, 3))
