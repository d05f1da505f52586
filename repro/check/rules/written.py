"""Targets that a project's build files name: whether they serve the card, and the edit where they do not."""

from collections.abc import Iterator

from repro.check.code.serving import in_words, serving
from repro.check.finding import finding
from repro.check.known.archlist import capped
from repro.check.rules.toolchain import file_of
from repro.model.check import Finding, SourceFact, Stack, Target
from repro.tables.read import table
from repro.tables.toolkits import first_toolkit


def written_targets(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on targets that build files name; a script counts less than a file with an extension."""
    if not target.capability:
        return
    builds = {file_of(f) for f in stack.sources if f.kind in ("cuda-extension", "jit-extension")}
    for fact in stack.sources:
        if fact.kind == "hard-coded-arch":
            yield from _judge(fact, stack, target, decides=file_of(fact) in builds)


def _judge(fact: SourceFact, stack: Stack, target: Target, *, decides: bool) -> Iterator[Finding]:
    sass = [name for name in fact.archs if name.startswith("sm_")]
    ptx = [name for name in fact.archs if name.startswith("compute_")]
    word, name = serving(sass, ptx, target.capability)
    found = f"compiles for {in_words(fact.archs)} only{'' if ptx else ', no PTX'}: `{fact.text}`"
    sm = f"sm_{target.capability.replace('.', '')}"
    if word == "jit":
        needed = f"{sm}, to start at once; {name} is compiled by the driver at first use"
        yield finding(
            "hard-coded-arch-jit", found, needed=needed, fix=_edit(fact, sm, stack), where=fact.where
        )
    elif word == "none":
        code = "hard-coded-arch" if decides else "hard-coded-arch-script"
        needed = f"{sm} for {target.name or target.asked or target.capability}"
        yield finding(code, found, needed=needed, fix=_edit(fact, sm, stack), where=fact.where)


def _edit(fact: SourceFact, sm: str, stack: Stack) -> list[str]:
    """The lines to write, with the CUDA of torch; where that does not know the card, a newer one first."""
    first, cuda = first_toolkit(sm), stack.torch.cuda
    capability = f"{sm[3:-1]}.{sm[-1]}"
    entry = capped(capability, cuda) if cuda else capability
    fixes = [_line(fact, entry)] if entry else []
    if fact.name == "nvcc" and entry:
        fixes.append(f"or take the flags out and set TORCH_CUDA_ARCH_LIST={entry}")
    if first is None or entry == capability:
        return fixes
    newer = f"{_line(fact, capability)}, with CUDA >= {first.version} and a torch that is built with it"
    return [newer, *(f"or, with CUDA {cuda}: {fix.removeprefix('or ')}" for fix in fixes)]


def _line(fact: SourceFact, entry: str) -> str:
    """The edit that adds one target to what the file says, in its own way of writing."""
    if fact.name == "nvcc":
        return f"{fact.where}: add {_flag(entry)}"
    style = next(
        (row["style"] for row in table("source_marks")["variable"] if row["name"] == fact.name), "torch"
    )
    value = entry if style == "torch" else entry.replace(".", "").removesuffix("+PTX")
    return f"{fact.where}: add {value} to {fact.name}"


def _flag(entry: str) -> str:
    number = entry.removesuffix("+PTX").replace(".", "")
    kind = "compute" if entry.endswith("+PTX") else "sm"
    return f"-gencode=arch=compute_{number},code={kind}_{number}"
