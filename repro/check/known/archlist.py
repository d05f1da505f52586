"""TORCH_CUDA_ARCH_LIST for a set of cards: what extensions of torch are compiled for.

While an image is built no card is visible, so torch cannot choose: with the variable unset it stops, or
compiles for whatever its version falls back to.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from repro.model.check import Torch
from repro.tables.read import table
from repro.tables.toolkits import Toolkit, cubin_excluded, renamed, toolkit


@dataclass(frozen=True)
class ArchList:
    """The variable's value, `8.0;8.6;9.0+PTX`, empty when nothing can be said.

    Attributes:
        left_out: (capability, why it does not stand in the list, and what serves it instead).
    """

    value: str
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Choice:
    """What serves one capability: a name for the list, whether as text, and why it is another one."""

    name: str = ""
    ptx: bool = False
    why: str = ""


def arch_list(torch: Torch, capabilities: Iterable[str], nvcc: str = "") -> ArchList:
    """The list for cards of these capabilities (`8.6`), cut to what both torch and the compiler take.

    Args:
        torch: whose extension builder reads the list.
        capabilities: of the targets, in any order; what is no capability is passed over.
        nvcc: version of the compiler, by default torch's own CUDA.

    A capability that cannot stand in the list is served by the nearest lower one of its major, else by the
    text (`+PTX`) of the nearest lower one of all; `left_out` says so. The highest entry always carries text.
    """
    wanted = sorted({c for c in capabilities if re.fullmatch(r"\d+\.\d", c)}, key=_number)
    names, compiler = accepted(torch.version), toolkit(nvcc or torch.cuda)
    if names is None or compiler is None:
        lacking = "torch" if names is None else "CUDA toolkit"
        return ArchList("", tuple((c, f"the {lacking} that compiles is not known") for c in wanted))
    usable = sorted((n for n in names if _known(n, compiler)), key=_number)
    choices = {c: _choose(c, usable, _refusal(c, names, torch, compiler)) for c in wanted}
    chosen = sorted({c.name for c in choices.values() if c.name}, key=_number)
    text = {c.name for c in choices.values() if c.ptx} | set(chosen[-1:])
    return ArchList(
        ";".join(f"{name}+PTX" if name in text else name for name in chosen),
        tuple((capability, c.why) for capability, c in choices.items() if c.why),
    )


def capped(capability: str, nvcc: str) -> str:
    """The entry that serves a capability best with a compiler, `8.6` or `8.6+PTX`; empty when none does."""
    compiler = toolkit(nvcc)
    names = [row["arches"] for row in table("extension_arches")["accepts"]][-1]
    usable = [n for n in names if compiler and not n.endswith("a") and _known(n, compiler)]
    choice = _choose(capability, sorted(usable, key=_number), "")
    return f"{choice.name}+PTX" if choice.ptx else choice.name


def accepted(version: str) -> tuple[str, ...] | None:
    """Names that a torch takes in the variable, without suffixes; None for an unknown or too old version.

    A release that is newer than the table has the last list: none has yet lost a name of a card that it had.
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        return None
    mine = (int(found[1]), int(found[2]))
    rows = [row for row in table("extension_arches")["accepts"] if _minor(row["since"]) <= mine]
    return tuple(name for name in rows[-1]["arches"] if not name.endswith("a")) if rows else None


def _choose(capability: str, usable: list[str], refusal: str) -> _Choice:
    if capability in usable:
        return _Choice(capability)
    lower = [n for n in usable if _number(n) < _number(capability) and n not in _embedded()]
    family = [n for n in lower if _major(n) == _major(capability) and not cubin_excluded(_sm(n), capability)]
    if family:
        return _Choice(family[-1], why=f"{refusal}; code for {family[-1]} runs there")
    if lower:
        return _Choice(
            lower[-1], ptx=True, why=f"{refusal}; the driver compiles {lower[-1]}+PTX at first use"
        )
    return _Choice(why=f"{refusal}, and nothing lower serves it")


def _embedded() -> set[str]:
    """Chips of embedded boards, which stand for no other card: 8.7."""
    rows: dict[str, list[str]] = table("cuda_toolkits")["cubin_exceptions"]
    return {capability for row in rows.values() for capability in row}


def _refusal(capability: str, names: tuple[str, ...], torch: Torch, compiler: Toolkit) -> str:
    if not _known(capability, compiler):
        first, last = (s.removeprefix("sm_") for s in (compiler.sass_first, compiler.sass_last))
        return f"nvcc {compiler.version} knows sm_{first} to sm_{last}, not {_sm(capability)}"
    return f"torch {torch.version} takes no {capability}" if capability not in names else ""


def _known(name: str, compiler: Toolkit) -> bool:
    return bool({_sm(name), renamed(_sm(name))} & set(compiler.sass))


def _sm(capability: str) -> str:
    return f"sm_{capability.replace('.', '')}"


def _number(capability: str) -> tuple[int, int]:
    major, minor = capability.split(".")
    return int(major), int(minor)


def _major(capability: str) -> str:
    return capability.split(".")[0]


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)
