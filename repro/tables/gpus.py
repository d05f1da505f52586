"""Which card a name means."""

import re
from difflib import get_close_matches
from functools import cache

from repro.errors import ReproError
from repro.tables.card import Gpu, all_gpus, capability_number
from repro.tables.family import described, family, slice_of, unusual
from repro.tables.names import (
    Words,
    capability_of,
    compact,
    mig_profile,
    one_of,
    parse_target,
    virtual,
    words,
)

__all__ = [
    "Gpu",
    "all_gpus",
    "by_name",
    "candidates",
    "capability_number",
    "capability_of",
    "find_gpu",
    "gpu_for",
    "members",
    "nearest",
    "parse_target",
]


def find_gpu(text: str) -> Gpu | None:
    """The card that a name means, in any spelling; None for an unknown name without a capability.

    Understood are keys, products, names as nvidia-smi and rental sites print them, a MIG part
    (`A100 MIG 1g.5gb`), and a capability, alone (`sm_90`) or with a name (`Some New Card (9.0)`), where the
    capability decides. A name that several products bear (`a100`) gives what they have in common, and their
    keys in `stands_for`.
    """
    said, capability = parse_target(one_of(text))
    name, profile = mig_profile(one_of(said))
    found = by_name(name)
    if found is None and (cards := [card for real in virtual(name) if (card := by_name(real))]):
        found, profile = cards[0], profile or "vGPU"
    if capability and (found is None or found.capability != capability):
        found = described(name, capability, found)
    if found is None or not profile:
        return found
    return slice_of(found, profile)


def gpu_for(text: str) -> Gpu:
    """The card that a name means, as `find_gpu` reads it.

    Raises:
        ReproError: `gpu-unknown`, with the nearest names.
    """
    found = find_gpu(text)
    if found is not None:
        return found
    near = nearest(text)
    raise ReproError(
        "gpu-unknown",
        f"no card is known as `{text}`",
        found=f"nearest names: {', '.join(near)}" if near else "no name in the table is near",
        needs="a name that nvidia-smi or a rental site prints, or the card's compute capability",
        tries=[
            *(f"repro gpus {key}" for key in near[:1]),
            "repro gpus",
            f'repro gpus "{" ".join(text.split()) or "NAME"} (9.0)"',
        ],
    )


def by_name(name: str) -> Gpu | None:
    """The card, or what is common to the cards, that a name without anything else means; else None."""
    spelled = compact(name)
    exact = _spellings().get(spelled) or _spellings().get(spelled.removeprefix("nvidia"))
    if exact is not None:
        return exact
    fitting = candidates(name)
    if not fitting or len({gpu.capability for gpu in fitting}) > 1:
        return None
    asked = words(name).maybe
    if not all(
        asked <= _worded()[gpu.key].maybe for gpu in fitting
    ):  # a memory that no such card is known with
        return unusual(name, fitting)
    return fitting[0] if len(fitting) == 1 else family(fitting)


def candidates(name: str) -> list[Gpu]:
    """Products that a name may mean; where no product has the memory it names, those of any memory."""
    asked = words(name)
    if not asked.model:
        return []
    plain = frozenset(word for word in asked.maybe if not _is_memory(word))
    same = [
        gpu
        for gpu in all_gpus()
        if _worded()[gpu.key].model == asked.model and plain <= _worded()[gpu.key].maybe
    ]
    return [gpu for gpu in same if asked.maybe <= _worded()[gpu.key].maybe] or same


def nearest(text: str, count: int = 3) -> list[str]:
    """Keys of the cards whose names are nearest to a text, best first, for a did-you-mean."""
    name = mig_profile(one_of(parse_target(text)[0]))[0]
    fitting = [gpu.key for gpu in candidates(name)]
    if fitting:
        return fitting[:count]
    close = get_close_matches(compact(name), _spellings(), n=8 * count, cutoff=0.6)
    close.sort(key=lambda spelled: _letters(spelled) != _letters(compact(name)))
    return list(dict.fromkeys(_spellings()[spelled].key for spelled in close))[:count]


def _letters(spelled: str) -> str:
    """The letters before the first digit: the line that a card belongs to."""
    return re.split(r"\d", spelled, maxsplit=1)[0].removeprefix("nvidia")


def members(gpu: Gpu) -> tuple[Gpu, ...]:
    """The products that a card stands for: itself, unless its name is shared by several."""
    return tuple(row for row in all_gpus() if row.key in gpu.stands_for) or (gpu,)


@cache
def _spellings() -> dict[str, Gpu]:
    """Every name of every card, as letters and digits."""
    return {
        compact(name): gpu
        for gpu in reversed(all_gpus())
        for name in (*gpu.aliases, *gpu.device_names, gpu.product, gpu.key)
    }


@cache
def _worded() -> dict[str, Words]:
    """Words of every card by its key; all its names together say what may be left out."""
    found = {}
    for gpu in all_gpus():
        named = [words(name) for name in (gpu.product, *gpu.device_names, *gpu.aliases)]
        more = {gpu.memory_type.lower(), f"{gpu.memory_gb}gb"} if gpu.memory_gb else _FORMS
        maybe = frozenset(more).union(*(spelled.maybe for spelled in named))
        found[gpu.key] = Words(model=named[0].model, maybe=maybe)
    return found


# Any of these is believed of a card of which only the capability is recorded.
_FORMS = {"sxm", "pcie", "hbm2e", "hbm3", "hbm3e", "max", "q"}


def _is_memory(word: str) -> bool:
    return word.endswith("gb") and word[:-2].isdigit()
