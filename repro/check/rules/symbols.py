"""What compiled files ask of their surroundings: torch's symbols, CUDA runtime, glibc, libstdc++."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from repro.check.code.containers import is_vendor
from repro.check.finding import finding
from repro.check.rules.chosen import chosen_files
from repro.model.binary import BinaryFacts, ElfFacts
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table

# `libcudart.so.11.0`, and with a hash in the name when a wheel bundles it: `libcudart-80664282.so.10.2`.
_CUDART = re.compile(r"libcudart(?:-[0-9a-f]+)?\.so\.(\d+)(?:\.(\d+))?")
_SPLIT_CUDA = ("libtorch_cuda_cu.so", "libtorch_cuda_cpp.so")
_SPLIT_ENDED = [2, 0]
_SHOWN = 3


def symbols_of_torch(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on files that need names which the locked torch does not export."""
    for facts, elf in _asking(stack):
        if elf.missing:
            yield finding(
                "undefined-symbol",
                f"{facts.path}: {len(elf.missing)} of {len(elf.torch_symbols)} names of torch are missing: "
                + _some(elf.missing),
                needed=f"every name exported by {_torch(stack)}",
                why=_why(elf),
                where=_where(facts),
                fix=_rebuild(facts, stack),
            )


def cuda_runtime(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on files linked against another CUDA major than torch's, or for a torch split in two."""
    for facts, elf in _asking(stack):
        wanted = next((m for name in elf.needed if (m := _CUDART.fullmatch(name))), None)
        if wanted and stack.torch.cuda and wanted[1] != stack.torch.cuda.split(".")[0]:
            yield finding(
                "cuda-major",
                f"{facts.path} needs {wanted[0]}, torch is built for CUDA {stack.torch.cuda}",
                needed=f"the runtime of CUDA {stack.torch.cuda.split('.')[0]}",
                where=_where(facts),
                fix=_rebuild(facts, stack),
            )
        parts = [name for name in elf.needed if name in _SPLIT_CUDA]
        if parts and not _has_parts(stack):
            yield finding(
                "torch-generation",
                f"{facts.path} needs {parts[0]}, which {_torch(stack)} does not have",
                needed="libtorch_cuda.so alone, as torch 2.0 and later have it",
                where=_where(facts),
                fix=_rebuild(facts, stack),
            )


def floors(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on files that need a newer C library, or a newer C++ one, than the place they run in."""
    for facts in chosen_files(stack):
        elf = facts.elf
        if elf is None or not _numbers(stack.glibc):
            continue
        if elf.glibc and _numbers(elf.glibc) > _numbers(stack.glibc):
            yield finding(
                "glibc-floor",
                f"{facts.path} needs GLIBC_{elf.glibc}, the base image has glibc {stack.glibc}",
                needed=f"glibc >= {elf.glibc}",
                where=_where(facts),
                fix=[f"a base image with glibc >= {elf.glibc}{_bases(elf.glibc)}",
                     f"build {facts.owner or facts.path} in the image"],
            )  # fmt: skip
        usual = _usual_glibcxx(stack.glibc)
        if elf.glibcxx and usual and _numbers(elf.glibcxx) > _numbers(usual):
            yield finding(
                "libstdcxx-floor",
                f"{facts.path} needs GLIBCXX_{elf.glibcxx}; with glibc {stack.glibc} usually comes {usual}",
                needed=f"libstdc++ with GLIBCXX_{elf.glibcxx}",
                where=_where(facts),
                fix=[f"strings libstdc++.so.6 | grep GLIBCXX_{elf.glibcxx}", "a newer base image"],
            )


def readable(name: str) -> str:
    """The nested name in a mangled one: `c10::Error::Error` for `_ZN3c105ErrorC2E...`; else as it is."""
    found = re.match(r"_ZN[rVK]*[RO]?(.*)", name)
    rest, parts = found[1] if found else "", []
    while length := re.match(r"[1-9]\d*", rest):
        end = length.end() + int(length[0])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
    if parts and re.match(r"[CD]\d", rest):
        parts.append(("" if rest[0] == "C" else "~") + parts[-1])
    return "::".join(parts) if parts else name


def _asking(stack: Stack) -> Iterator[tuple[BinaryFacts, ElfFacts]]:
    """Files that would be loaded beside torch; torch's own and the vendor's libraries go by themselves."""
    for facts in chosen_files(stack):
        if facts.elf is not None and facts.owner != "torch" and not is_vendor(facts):
            yield facts, facts.elf


def _some(names: list[str]) -> str:
    left = len(names) - _SHOWN
    return ", ".join(readable(name) for name in names[:_SHOWN]) + (f" and {left} more" if left > 0 else "")


def _why(elf: ElfFacts) -> str:
    marks = {"new": r"__cxx11", "old": r"(?<!St)Ss"}
    mark = marks.get(elf.string_abi)
    hit = [name for name in elf.missing or () if mark and re.search(mark, name)]
    if hit:
        abi = f"the {elf.string_abi} C++ string ABI"
        return f"it was built with {abi}, as {len(hit)} of the missing names show: the import fails"
    return "it was built for another torch: the import stops with an undefined symbol"


def _has_parts(stack: Stack) -> bool:
    """Whether torch comes in two CUDA libraries; what is not known is not held against anybody."""
    files = {PurePosixPath(f.path).name for f in stack.binaries if f.owner == "torch"}
    if any(name.startswith("libtorch_cuda") for name in files):
        return bool(files & set(_SPLIT_CUDA))
    return not stack.torch.version or _numbers(stack.torch.version) < _SPLIT_ENDED


def _torch(stack: Stack) -> str:
    tag = f"+{stack.torch.tag}" if stack.torch.tag else ""
    return f"torch {stack.torch.version}{tag}" if stack.torch.version else "this torch"


def _rebuild(facts: BinaryFacts, stack: Stack) -> list[str]:
    name, torch = facts.owner or facts.path, _torch(stack)
    return [f"lock a wheel of {name} built for {torch}", f"build {name} from source against {torch}"]


def _where(facts: BinaryFacts) -> str:
    return f"{facts.owner}=={facts.version}" if facts.owner and facts.version else facts.owner or facts.path


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _usual_glibcxx(glibc: str) -> str:
    """Newest symbol version of libstdc++ on systems with this glibc; empty when none is in the table."""
    known = [row["glibcxx"] for row in table("systems")["system"] if row["glibc"] == glibc]
    return max(known, key=_numbers, default="")


def _bases(glibc: str) -> str:
    rows = table("systems")["system"]
    first = next((row["name"] for row in rows if _numbers(row["glibc"]) >= _numbers(glibc)), "")
    return f", such as {first}" if first else ""
