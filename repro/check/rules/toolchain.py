"""What compiles in the place where a stack runs, as far as anything says so."""

import re

from repro.model.check import SourceFact, Stack

_CUDA = re.compile(r"(?:cuda|nvcc)[:/ _-]?v?(\d{1,2}\.\d{1,2})", re.IGNORECASE)
_COMPILER = re.compile(r"(?:gcc|g\+\+|clang|c\+\+)(?:-\d+)?|build-essential")


def nvcc_of(stack: Stack) -> str | None:
    """Version of nvcc in the image, empty when that is not said; None when nothing says that it is there.

    Images of CUDA and of torch have it where their tag says `devel`; a slim Debian has none.
    """
    found = _CUDA.search(stack.detail)
    if re.search(r"\bdevel\b|\bnvcc\b", stack.detail):
        return found[1] if found else ""
    return "" if "nvidia-cuda-toolkit" in stack.system_packages else None


def has_compiler(stack: Stack) -> bool:
    """Whether something says that the image has a compiler for C and C++."""
    return nvcc_of(stack) is not None or any(_COMPILER.fullmatch(name) for name in stack.system_packages)


def facts(stack: Stack, *kinds: str) -> list[SourceFact]:
    """Facts of these kinds, but for extensions that come as a wheel of the stack."""
    return [f for f in stack.sources if f.kind in kinds and not _is_locked(f, stack)]


def file_of(fact: SourceFact) -> str:
    """The file that a fact was found in."""
    return re.sub(r":\d+$", "", fact.where)


def first_of_each_file(found: list[SourceFact]) -> list[SourceFact]:
    """One fact for each file."""
    return list({file_of(fact): fact for fact in reversed(found)}.values())[::-1]


def places(found: list[SourceFact]) -> str:
    """`train.py:3` or `train.py:3 and 4 more places`."""
    more = len(found) - 1
    return found[0].where + (f" and {more} more place{'s' if more > 1 else ''}" if more else "")


def _is_locked(fact: SourceFact, stack: Stack) -> bool:
    named = re.sub(r"[-_.]+", "-", fact.name.partition(".")[0]).lower()
    return fact.kind == "cuda-extension" and named in stack.packages
