"""How people write a card: its words, a capability, a slice of it."""

import re
from functools import cache

from repro.model.record import Record
from repro.tables.read import table

_NUMBER = (
    r"(?:sm|compute)_?(?P<joined>[1-9]\d{1,2})[af]?"
    r"|(?:cc|compute[ -]?capability|cap)?[ =:]*v?(?P<dotted>[1-9]\d?\.\d)"
)
_AFTER = _NUMBER.replace("joined", "joined_after").replace("dotted", "dotted_after")
_BARE = re.compile(rf"\s*(?:{_NUMBER})\s*", re.IGNORECASE)
_WITH_NAME = re.compile(
    rf"\s*(?P<name>\S.*?)\s*(?:[(\[]\s*(?:{_NUMBER})\s*[)\]]"
    rf"|(?:[=:,@]\s*|\s(?=sm|compute|cc|cap))(?:{_AFTER}))\s*",
    re.IGNORECASE,
)
_MIG = re.compile(
    r"[\s,:(\[-]*\bMIG\b[\s:-]*(?P<profile>\d+g\.\d+gb(?:\+\w+)?|\d\w*)?[)\]]?.*$", re.IGNORECASE
)
_COUNT = re.compile(
    r"^(?:gpu[\s_-]+)?\d{1,2}\s?[x×*][\s_-]?(?=[a-z])|(?:[\s_-]|(?<=\d))[x×*]\s?\d{1,2}$",  # noqa: RUF001
    re.IGNORECASE,
)
# A line of `nvidia-smi -L` around a name, and the name of a virtual card: `GRID A100D-40C`, `NVIDIA L40-48Q`.
_LINE = re.compile(r"^GPU ?\d+ ?: ?|\s*\(UUID:[^)]*\)$", re.IGNORECASE)
_VIRTUAL = re.compile(
    r"(?:(?:grid|nvidia) )*(?P<card>(?P<plain>(?:rtx ?)?[a-z]{0,2}\d+s?)[a-z]{0,2})(?:-\d)?-\d{1,3}[qcba]",
    re.IGNORECASE,
)
_PARTS = re.compile(r"\d+ ?gi?b?\b|[a-z]+\d+[a-z]*|\d+|[a-z]+", re.IGNORECASE)
_SPLIT = re.compile(r"^(rtx|gtx)(\d{4})$")


_LONGEST = 200  # no card has a longer name; the patterns would take long over a page of text


class Words(Record, kw_only=True):
    """The words of a name: `model` says which card it is, `maybe` may be said or left out."""

    model: frozenset[str]
    maybe: frozenset[str]


def capability_of(text: str) -> str:
    """The compute capability that is all of a text: `9.0` for `sm_90`, `cc 9.0`, `compute_90`; else empty."""
    found = _BARE.fullmatch(_short(text))
    return _dotted(found["joined"], found["dotted"]) if found else ""


def parse_target(text: str) -> tuple[str, str]:
    """The name and the capability written in `Some New Card (9.0)`, `NAME=9.0`, `NAME sm_90` or `sm_90`.

    What is not written is empty; a name alone says no capability here, whatever the table knows of it.
    """
    alone = capability_of(text)
    if alone:
        return "", alone
    found = _WITH_NAME.fullmatch(_short(text))
    if found is None:
        return " ".join(text.split()), ""
    capability = _dotted(found["joined"] or found["joined_after"], found["dotted"] or found["dotted_after"])
    return " ".join(found["name"].split()), capability


def mig_profile(name: str) -> tuple[str, str]:
    """A name without its MIG part, and that part: (`A100-SXM4-40GB`, `1g.5gb`); `MIG` without profile."""
    short = _short(name)
    found = _MIG.search(short)
    if found is None:
        return name, ""
    return short[: found.start()].strip(), (found["profile"] or "MIG").lower().replace("mig", "MIG")


def one_of(name: str) -> str:
    """A name without a number of cards: `A100` for `8x A100`, `A100 x8`, `gpu_8x_a100` or `GPU 0: A100`."""
    return _COUNT.sub("", _LINE.sub("", _short(name))) or name


def virtual(name: str) -> tuple[str, ...]:
    """Names of the card behind a virtual one, the likelier first: A100D and A100 for `GRID A100D-40C`."""
    found = _VIRTUAL.fullmatch(_short(name))
    return tuple(dict.fromkeys((found["card"], found["plain"]))) if found else ()


def compact(name: str) -> str:
    """Letters and digits of a name, in lower case: what two spellings of one name share."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def words(name: str) -> Words:
    """The words of a name that say which card it is, and those that may be left out."""
    noise, maybe = _rules()
    found = {part for word in _PARTS.findall(name.lower()) for part in _canonical(word)} - noise
    optional = {word for word in found if word in maybe or re.fullmatch(r"\d+gb", word)}
    return Words(model=frozenset(found - optional), maybe=frozenset(optional))


def _short(text: str) -> str:
    """A text with single spaces; empty where it is too long to be a card."""
    return " ".join(text.split()) if len(text) <= _LONGEST else ""


@cache
def _rules() -> tuple[frozenset[str], frozenset[str]]:
    rules = table("gpus")["name_rules"]
    return frozenset(rules["noise"]), frozenset(rules["maybe"])


def _canonical(word: str) -> list[str]:
    """One word as the table spells it: `sxm` for sxm4, `80gb` for 80g, two words for rtx4090."""
    if re.fullmatch(r"\d+ ?gi?b?", word):
        return [re.sub(r" ?gi?b?$", "gb", word)]
    if re.fullmatch(r"sxm\d", word):
        return ["sxm"]
    glued = _SPLIT.match(word)
    return list(glued.groups()) if glued else [word]


def _dotted(joined: str | None, dotted: str | None) -> str:
    return dotted or (f"{joined[:-1]}.{joined[-1]}" if joined else "")
