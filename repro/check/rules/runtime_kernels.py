"""Kernels that are compiled while the program runs: Triton, torch.compile, cupy, numba, pycuda."""

import re
from collections.abc import Iterator
from typing import Any

from packaging.utils import canonicalize_name

from repro.check.finding import finding
from repro.check.rules.toolchain import facts, has_compiler, nvcc_of, places
from repro.model.check import Finding, SourceFact, Stack, Target
from repro.tables.read import table
from repro.tables.toolkits import first_toolkit, toolkit
from repro.tables.torchbuilds import build_of


def triton_kernels(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on Triton and torch.compile: ptxas must know the card, its launcher wants a compiler."""
    found = facts(stack, "triton", "torch-compile")
    if not found or stack.torch.tag == "cpu":
        return
    if all(fact.kind == "torch-compile" for fact in found) and _is_before_2(stack.torch.version):
        needed = "torch 2.0 or newer, or a test for it in the program"
        yield finding(
            "torch-compile-absent",
            f"{places(found)} with torch {stack.torch.version}",
            needed=needed,
            where=found[0].where,
        )
        return
    if not has_compiler(stack):
        yield finding(
            "triton-needs-compiler",
            f"{places(found)}: `{found[0].text}`",
            needed="a C compiler in the image, with the headers of the C library and of Python",
            fix='repro.toml, below [dependencies]: system = ["gcc", "libc6-dev"]',
            where=found[0].where,
        )
    if target.capability:
        yield from _assembler(found, stack, target)


def triton_named(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on a triton that the words name: it is meant to be used, and its ptxas must know the card."""
    rows = table("triton_ptxas")["triton"]
    for extra in stack.extras if target.capability and not facts(stack, "triton", "torch-compile") else ():
        version = (extra.version or "").removeprefix("==").partition("+")[0]
        row = next((r for r in rows if r["version"] == version), None)
        if canonicalize_name(extra.name) in ("triton", "pytorch-triton") and row:
            yield from _knows(row, f"{extra.name} is named", target, extra.where or extra.name)


def compilers_at_run(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on cupy, numba and pycuda: what compiles their kernels must be in the image."""
    for row in table("run_compilers")["compiler"]:
        found = facts(stack, row["kind"])
        if not found:
            continue
        provided = _provided(row, stack)
        yield finding(
            "runtime-compiled" if provided else "runtime-compiler",
            f"{row['maker']} compiles kernels when they are first called: {places(found)}",
            needed=f"{row['needs']} in the image that runs{f' ({provided} is there)' if provided else ''}",
            fix=()
            if provided
            else f"a base image with it, or where {row['maker']} takes it from a package, that package",
            source=row["source"],
            where=found[0].where,
        )


def triton_of(stack: Stack) -> str:
    """Version of triton: locked, else the one that this very torch pins; empty when neither says it."""
    locked = stack.packages.get("triton") or stack.packages.get("pytorch-triton") or ""
    if locked:
        return locked.partition("+")[0]
    build = build_of(stack.torch.version, stack.torch.tag) if stack.torch.version else None
    pins = [r.partition("==")[2] for r in (build.requires if build else ()) if r.startswith("triton==")]
    return pins[0] if pins else ""


def _assembler(found: list[SourceFact], stack: Stack, target: Target) -> Iterator[Finding]:
    rows = table("triton_ptxas")
    version = triton_of(stack)
    row = next((r for r in rows["triton"] if r["version"] == version), None)
    said = f"{places(found)}: `{found[0].text}`"
    if _numbers(target.capability) < _numbers(rows["lowest"]):
        needed = f"a card of {rows['lowest']} or newer; this one is {target.capability}"
        yield finding("triton-old-card", said, needed=needed, source=rows["source"], where=found[0].where)
    elif row is None:
        named = f"triton {version} is not in the table" if version else "nothing says which triton is there"
        ask = 'python -c "import triton, pathlib; print(pathlib.Path(triton.__file__).parent)"'
        yield finding(
            "triton-unknown",
            f"{said}; {named}",
            fix=f"{ask}, then `ptxas --help` below it",
            where=found[0].where,
        )
    else:
        yield from _knows(row, said, target, found[0].where)


def _knows(row: dict[str, Any], said: str, target: Target, where: str) -> Iterator[Finding]:
    sm = f"sm_{target.capability.replace('.', '')}"
    newer = "newer" in row and _numbers(target.capability) >= _numbers(row["from"])
    kit = toolkit(row["newer"] if newer else row["ptxas"])
    if kit is None or sm in kit.sass:
        return
    first = first_toolkit(sm)
    known = f"{kit.sass_first} to {kit.sass_last}"
    yield finding(
        "triton-target",
        f"{said}; triton {row['version']} assembles with CUDA {kit.version}, which knows {known}",
        needed=f"{sm}{f', which CUDA {first.version} brought' if first else ''}",
        fix=["a newer torch, which brings a newer triton", "or run it without: TORCHDYNAMO_DISABLE=1"],
        source=row["source"],
        where=where,
    )


def _provided(row: dict[str, Any], stack: Stack) -> str:
    """What in the stack or the image brings the compiler; empty when nothing is known to."""
    if nvcc_of(stack) is not None:
        return "the CUDA toolkit of the base image"
    library = next((name for name in stack.libraries or () if name.startswith(row["library"])), "")
    return library or next((name for name in stack.packages if re.match(row["packages"], name)), "")


def _is_before_2(version: str) -> bool:
    return bool(version) and _numbers(version) < (2,)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
