"""The words about a package, read for the cards that its code is for."""

import re
from dataclasses import dataclass
from functools import cache

from repro.check.code.containers import chip
from repro.model.check import Extra
from repro.tables.gpus import all_gpus, find_gpu

_LACKS = re.compile(
    r"(?:without|\bno|\bnot|lacks?|lacking|missing|except|all but)\s+(?:any\s+)?"
    r"(?:code\s+|kernels\s+|support\s+)?"
    r"(?:for\s+)?(?:sm|compute)_?(\d{2,3})[af]?",
    re.IGNORECASE,
)
_DOTTED = re.compile(
    r"(?:capabilit(?:y|ies)|\bcc|\barch(?:itecture)?s?(?:[ _]list)?|kernels|\bcode|targets?"
    r"|-?gencode(?: flags)?)"
    r"(?:\s+(?:for|of|is|are|only|just|from))*\s*[:=]?\s*((?:\d{1,2}\.\d[af]?(?:\+PTX)?(?:\s*(?:,|;|/|and|or)\s*|\s+)?)+)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d{1,2}\.\d)([af]?)(\+PTX)?", re.IGNORECASE)
_FAMILY = r"Kepler|Maxwell|Pascal|Volta|Turing|Ampere|Ada|Hopper|Blackwell"
_FAMILIES = re.compile(
    rf"(?:kernels|\bcode|built|compiled|targets?)\s+(?:only\s+)?for\s+((?:(?:{_FAMILY})(?:,?\s*(?:and|or|/|,)?\s*)?)+)"
    r"(?!\s*(?:and |or )?(?:newer|later|up|above))"
    rf"|((?:(?:{_FAMILY})(?:\s*(?:and|or|/|,)\s*)?)+)\s+(?:kernels|code)\b",
    re.IGNORECASE,
)
_WITH_PTX = re.compile(r"(?<!no )(?<!without )(?<!lacks )\bptx\b", re.IGNORECASE)
_UP_TO = re.compile(
    r"(?:up to|stops? at|ends? (?:at|with)|until|through|not beyond)\s+(?:sm_?)?\d", re.IGNORECASE
)
_FROM = re.compile(
    r"(?:>=?|at least|minimum|newer than)\s*(?:sm_?)?\d"
    r"|(?:sm_?\d{2,3}|\d\.\d)\s*(?:\+(?!\s*PTX)|(?:and|or) (?:newer|above|up|later|higher|better|more))",
    re.IGNORECASE,
)
_ON_CARD = re.compile(
    r"\b(?:on|for|with) (?:an? |one |(?:the )?(?!\d+\.\d))(?:single |lone |different |other )?"
    r"([\w .+-]{1,40}?)"
    r"(?: node| machine| host| gpu| card| box| server| instance|[,;)]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Targets:
    """What the words say.

    Attributes:
        named: targets that the code has, `sm_80`, `compute_80`; lacking: chips that it is said not to have.
        open_below: only the newest target is named, `up to sm_90`; open_above: only the oldest.
        cards: capabilities of cards that it was compiled on.
    """

    named: tuple[str, ...]
    lacking: frozenset[int]
    open_below: bool
    open_above: bool
    cards: tuple[str, ...]


def targets_of(extra: Extra) -> Targets:
    """The targets that a package's words name, and the cards that they say it was compiled on."""
    lacking = frozenset(int(number) for number in _LACKS.findall(extra.how))
    named = [
        name
        for name in extra.archs or _dotted(extra.how) or _families(extra.how)
        if _chip(name) not in lacking
    ]
    if named and _WITH_PTX.search(extra.how) and not any(name.startswith("compute") for name in named):
        named.append(f"compute_{max(map(_chip, named))}")
    return Targets(
        named=tuple(named),
        lacking=lacking,
        open_below=bool(_UP_TO.search(extra.how)),
        open_above=bool(_FROM.search(extra.how)),
        cards=tuple(_cards(extra.how)),
    )


def may_reach(said: Targets, capability: str) -> bool:
    """Whether the card lies on the open side of a list of which only the newest or oldest target is named."""
    chips = sorted(map(_chip, said.named))
    below = said.open_below and chips and chip(capability) <= chips[-1]
    return bool(below or (said.open_above and chips and chip(capability) >= chips[0]))


def _dotted(how: str) -> list[str]:
    """`sm_80` and `sm_86` of `kernels for 8.0 and 8.6`; other numbers are versions of something."""
    found = []
    for numbers in _DOTTED.findall(how):
        for capability, suffix, ptx in _NUMBER.findall(numbers):
            if capability in _capabilities():
                found += [
                    f"sm_{chip(capability)}{suffix.lower()}",
                    *([f"compute_{chip(capability)}"] if ptx else []),
                ]
    return list(dict.fromkeys(found))


def _families(how: str) -> list[str]:
    """Every chip of the generations named in `built for Ampere and Ada`."""
    words = " ".join(" ".join(pair) for pair in _FAMILIES.findall(how)).lower()
    chips = {
        chip(gpu.capability)
        for gpu in all_gpus()
        if gpu.architecture and gpu.architecture.split()[0].lower() in words
    }
    return [f"sm_{number}" for number in sorted(chips)]


def _cards(how: str) -> list[str]:
    cards = [find_gpu(words) for words in _ON_CARD.findall(how)]
    return [gpu.capability for gpu in cards if gpu and gpu.capability in _capabilities()]


@cache
def _capabilities() -> frozenset[str]:
    return frozenset(gpu.capability for gpu in all_gpus())


def _chip(name: str) -> int:
    return int(re.sub(r"\D", "", name) or 0)
