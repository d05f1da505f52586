"""Compiled files that were read, torch's own kernels aside: whether their GPU code fits the card."""

import re
from collections.abc import Iterator

from repro.check.code.containers import (
    chip,
    compiles,
    driver_for,
    file_fit,
    in_words,
    is_torch,
    is_vendor,
    isa_needed,
    targets,
    total,
    usable,
)
from repro.check.finding import finding
from repro.check.rules.chosen import Family, chosen_files, families
from repro.model.binary import BinaryFacts
from repro.model.check import FileFit, Finding, Stack, Target

_TABLES = "libraries and symbols unknown"  # how the reader says that the GPU code alone is known


def code_of_extensions(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on GPU code in files other than torch's kernels, each file by its own containers."""
    chosen = chosen_files(stack, target)
    fitting = {facts.owner for facts in chosen if _serves(facts, target)}
    for facts in chosen:
        found = file_fit(facts, target)
        if target.capability and found.containers and not is_torch(facts):
            yield from _judge(facts, found, target, alone=facts.owner not in fitting)


def unread_files(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on files that the reader could not read to the end."""
    for facts in stack.binaries:
        for problem in facts.problems:
            said = f"{facts.path}: {problem}"
            if is_vendor(facts) and problem.startswith(_TABLES):
                yield finding("file-tables-unread", said, where=_where(facts))
                continue
            code = "file-32-bit" if "32-bit" in problem else "file-unread"
            yield finding(code, said, where=_where(facts), fix="fetch its package again")


def variants(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on packages that bring one file for each CUDA version, where torch's version has none."""
    for family in families(stack.binaries):
        if stack.torch.tag != "cpu" and not family.of_cuda(stack.torch.cuda):
            yield _no_variant(family, stack)


def _no_variant(family: Family, stack: Stack) -> Finding:
    names = ", ".join(f"{version[:-1]}.{version[-1]}" for version in family.files)
    cuda = stack.torch.cuda
    same_major = any(version[:-1] == cuda.split(".")[0] for version in family.files)
    code = "variant-missing" if cuda and not same_major else "variant-unknown"
    name = family.owner or "the package"
    return finding(
        code,
        f"{name} has a file for CUDA {names}, torch is for CUDA {cuda or '(unknown)'}",
        needed=f"a file for CUDA {cuda}" if cuda else "the CUDA version of torch",
        where=_where(family.first),
        fix=[f"lock a torch built for CUDA {names.replace(', ', ' or ')}", f"or another release of {name}"],
    )


def _judge(facts: BinaryFacts, found: FileFit, target: Target, alone: bool) -> Iterator[Finding]:
    if usable(found) == 0:
        yield _nothing(facts, found, target, alone)
        return
    if usable(found) < total(found) and not found.vendor:
        code = "extension-partly" if 2 * usable(found) >= total(found) else "extension-mostly-none"
        yield _tell(code, facts, found, target)
    if not found.vendor:
        yield from _by_driver(facts, found, target)


def _nothing(facts: BinaryFacts, found: FileFit, target: Target, alone: bool) -> Finding:
    """No container serves the card: a fault where no other file of its package does, else a part."""
    if is_vendor(facts):
        return _tell("vendor-no-code", facts, found, target)
    if alone:
        return _tell("extension-no-code", facts, found, target)
    archs = [int(re.sub(r"\D", "", name)) for name in targets(facts)]
    newer = all(arch > chip(target.capability) for arch in archs)
    return _tell("extension-newer-cards" if newer else "extension-other-cards", facts, found, target)


def _by_driver(facts: BinaryFacts, found: FileFit, target: Target) -> Iterator[Finding]:
    """Findings on containers that the driver has to compile."""
    compiled = found.containers.get("jit", 0) + found.containers.get("jitlink", 0)
    if not compiled:
        return
    isa = isa_needed(facts, target.capability)
    wholly = compiled == usable(found)
    if compiles(isa, target) is False:
        code = "ptx-needs-driver" if wholly else "ptx-partly-needs-driver"
    else:
        code = "extension-jit" if wholly else "extension-partly-jit"
    yield _tell(code, facts, found, target, needed=driver_for(isa) if isa else "", ptx=isa)


def _tell(
    code: str, facts: BinaryFacts, found: FileFit, target: Target, needed: str = "", ptx: str = ""
) -> Finding:
    text = f" (PTX {ptx})" if ptx else ""
    return finding(
        code,
        f"{facts.path}: {in_words(found)} on {target.capability}; it holds {' '.join(targets(facts))}{text}",
        needed=needed or f"code for {_sm(target)}, or PTX of {_sm(target).replace('sm', 'compute')} or older",
        where=_where(facts),
        fix=_fixes(code, facts, target, needed),
    )


def _fixes(code: str, facts: BinaryFacts, target: Target, needed: str) -> list[str]:
    if code.startswith("ptx-"):
        return [needed or "a newer driver"]
    if code.endswith(("-partly", "-jit", "-newer-cards")):
        return []
    name = facts.owner or facts.path
    return [
        f"build {name} from source with TORCH_CUDA_ARCH_LIST={target.capability}",
        f"lock a release of {name} whose wheel has {_sm(target)}",
    ]


def _serves(facts: BinaryFacts, target: Target) -> bool:
    found = file_fit(facts, target)
    return bool(facts.owner) and not is_vendor(facts) and not is_torch(facts) and usable(found) > 0


def _sm(target: Target) -> str:
    return f"sm_{target.capability.replace('.', '')}"


def _where(facts: BinaryFacts) -> str:
    return f"{facts.owner}=={facts.version}" if facts.owner and facts.version else facts.owner or facts.path
