"""Lists of targets held against a card: what serves it, and how well."""

from collections.abc import Iterable

from repro.check.code.containers import WORDS, Word, fit
from repro.model.binary import GpuCode


def serving(sass: Iterable[str], ptx: Iterable[str], capability: str) -> tuple[Word, str]:
    """How a list of targets serves a card, and the target that does; `none` and an empty name if none does.

    `sm_86` before `sm_80` on 8.9, and any machine code before text. The rules for one target are those of
    `containers.fit`.
    """
    judged = [(fit(image(name), capability), name) for name in [*sass, *ptx]]
    useful = [(word, name) for word, name in judged if word != "none"]
    best = min(useful, key=lambda pair: (WORDS.index(pair[0]), -number(pair[1])), default=None)
    return best or ("none", "")


def image(name: str) -> GpuCode:
    """The image that a target's name stands for: `sm_90a` is machine code, `compute_86` text."""
    kind, _, arch = name.partition("_")
    return GpuCode(kind="ptx" if kind == "compute" else "sass", arch=arch)


def number(name: str) -> int:
    """90 of `sm_90a`; 0 where there is none."""
    digits = name.partition("_")[2].rstrip("af")
    return int(digits) if digits.isdecimal() else 0


def in_words(names: Iterable[str]) -> str:
    """Targets for people, in the order of their numbers: `sm_70, sm_80, compute_80`."""
    ordered = sorted(names, key=lambda name: (name.startswith("compute"), number(name), name))
    return ", ".join(ordered) or "none"
