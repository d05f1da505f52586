"""Targets that a line of a build file names: `sm_70` for machine code, `compute_70` for text."""

import re
from collections.abc import Iterable
from functools import cache

from repro.tables.read import table

_PAIR = re.compile(r"\barch=compute_(\d{2,3}[af]?),\s*code=\[?\"?([a-z0-9_,\s]+)")
_SHORT = re.compile(r"(?<![\w-])(?:-arch|--gpu-architecture)[=\s]+(sm|compute)_(\d{2,3}[af]?)\b")
_CODE = re.compile(r"(sm|compute|lto)_(\d{2,3}[af]?)\b")
_ARM = re.compile(r"--?(?:march|mcpu)")


def flag_targets(line: str) -> list[str]:
    """Targets of nvcc's flags in a line, sorted.

    `-arch=sm_70` alone also keeps the text, `arch=compute_70,code=sm_70` does not. Source: manual of nvcc.
    """
    found: list[str] = []
    for _virtual, codes in _PAIR.findall(line):
        found += [f"{kind}_{number}" for kind, number in _CODE.findall(codes) if kind != "lto"]
    for kind, number in [] if found or _ARM.search(line) else _SHORT.findall(line):
        found += [f"{kind}_{number}", f"compute_{number}"]
    return ordered(found)


def list_targets(name: str, value: str) -> list[str]:
    """Targets in the value of a variable such as TORCH_CUDA_ARCH_LIST, sorted; empty when it names none."""
    style = variables().get(name, "")
    words = [w for w in re.split(r"[;,\s]+", value.strip().strip("\"'")) if w]
    read = {"torch": _torch_words, "cmake": _cmake_words}.get(style)
    return ordered(read(words)) if read else []


@cache
def variables() -> dict[str, str]:
    """Variables that hold targets, with the style of their value."""
    return {row["name"]: row["style"] for row in table("source_marks")["variable"]}


def ordered(targets: Iterable[str]) -> list[str]:
    """The targets once each: by number, machine code first."""
    return sorted(set(targets), key=lambda t: (int(re.sub(r"\D", "", t)), t.startswith("c"), t))


def _torch_words(words: list[str]) -> list[str]:
    names = {row["name"]: row["list"].split(";") for row in table("source_marks")["generation"]}
    found = []
    for word in (part for w in words for part in names.get(w, [w])):
        if match := re.fullmatch(r"(\d{1,2})\.(\d[af]?)(\+PTX)?", word):
            number = match[1] + match[2]
            found += [f"sm_{number}"] + ([f"compute_{number}"] if match[3] else [])
    return found


def _cmake_words(words: list[str]) -> list[str]:
    found = []
    for word in words:
        if match := re.fullmatch(r"(\d{2,3}[af]?)(-real|-virtual)?", word):
            found += [f"sm_{match[1]}"] if match[2] != "-virtual" else []
            found += [f"compute_{match[1]}"] if match[2] != "-real" else []
    return found
