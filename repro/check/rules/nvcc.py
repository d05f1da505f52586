"""The compiler of extensions: whether nvcc knows the card, and whether torch accepts it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from repro.check.finding import finding
from repro.check.known.archlist import arch_list, capped
from repro.check.rules.toolchain import facts, first_of_each_file, nvcc_of
from repro.check.words.extra_targets import targets_of
from repro.model.check import Extra, Finding, Stack, Target
from repro.tables.toolkits import first_toolkit, toolkit

# torch compares nvcc's version with its own CUDA from this release on, and stops where the majors differ.
# Source: BuildExtension in torch/utils/cpp_extension.py of the wheels 1.9.1 (no check) and 1.10.2.
_COMPARES_SINCE = (1, 10)
# Words that say that no card was there when a package was compiled.
_NO_CARD = re.compile(
    r"docker ?build|docker ?file|image build|build of (?:an|the) image"
    r"|no (?:gpu|card)|without (?:a |any )?(?:gpu|card)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Compiled:
    """Something that nvcc compiles: what it is, with which nvcc, where that was said, for which targets."""

    what: str
    nvcc: str
    where: str
    archs: tuple[str, ...] = ()


def compilers(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on nvcc for described packages and for the extensions in the code."""
    for compiled in _compiled(stack):
        yield from _against_torch(compiled, stack)
        if compiled.archs:
            yield from _against_list(compiled)
        elif target.capability:
            yield from _against_card(compiled, target)


def built_without_card(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on described packages that were compiled where no card is visible, with no target list."""
    for extra in stack.extras:
        if extra.built == "source" and not extra.archs and _NO_CARD.search(extra.how):
            yield _blind(extra, stack, target)


def _blind(extra: Extra, stack: Stack, target: Target) -> Finding:
    listed = arch_list(stack.torch, [target.capability], extra.nvcc).value if target.capability else ""
    value = listed or target.capability or "7.0;8.0;9.0+PTX      (the capabilities of your cards)"
    return finding(
        "build-without-gpu",
        f"{extra.name}: {extra.how}",
        needed="a target list, since no card is visible while an image is built",
        fix=[f"ENV TORCH_CUDA_ARCH_LIST={value}", f"or a prebuilt wheel of {extra.name} for this torch"],
        where=extra.where or extra.name,
    )


def _compiled(stack: Stack) -> list[Compiled]:
    found = [
        Compiled(extra.name, extra.nvcc, extra.where, targets_of(extra).named)
        for extra in stack.extras
        if extra.nvcc and extra.built != "wheel"
    ]
    if nvcc := nvcc_of(stack):
        hard = {f.where.rpartition(":")[0]: f.archs for f in stack.sources if f.kind == "hard-coded-arch"}
        for fact in first_of_each_file(facts(stack, "cuda-extension", "jit-extension", "sdist")):
            archs = tuple(hard.get(fact.where.rpartition(":")[0], ()))
            found.append(Compiled(fact.name or "the extension", nvcc, fact.where, archs))
    return found


def _against_torch(compiled: Compiled, stack: Stack) -> Iterator[Finding]:
    cuda = stack.torch.cuda
    if not cuda or _numbers(cuda)[:2] == _numbers(compiled.nvcc)[:2]:
        return
    found = f"{compiled.what}: nvcc {compiled.nvcc}; torch is built with CUDA {cuda}"
    major = cuda.partition(".")[0]
    if compiled.nvcc.partition(".")[0] == major:
        yield finding("nvcc-minor", found, needed=f"nvcc of CUDA {major}", where=compiled.where)
        return
    known = _numbers(stack.torch.version)
    unchecked = bool(known) and known < _COMPARES_SINCE
    why = (
        "this torch does not compare the two, but the extension then loads a second CUDA runtime"
        if unchecked
        else ""
    )
    fix = [f"compile with the CUDA {cuda} toolkit, or another one of CUDA {major}"]
    fix.append(f"or a torch that is built with CUDA {compiled.nvcc.partition('.')[0]}")
    yield finding("nvcc-major", found, needed=f"nvcc of CUDA {major}", why=why, fix=fix, where=compiled.where)


def _against_list(compiled: Compiled) -> Iterator[Finding]:
    """The targets that the build asks for by name, against those that its nvcc is too old for."""
    for name in compiled.archs:
        first = first_toolkit(name.replace("compute_", "sm_"))
        if first is None or _numbers(compiled.nvcc) >= _numbers(first.version):
            continue
        yield finding(
            "nvcc-target",
            f"{compiled.what}: nvcc {compiled.nvcc} is asked for {name}",
            needed=f"nvcc >= {first.version}",
            why=f"it stops: unsupported gpu architecture compute_{name.rpartition('_')[2]}",
            fix=[f"CUDA toolkit >= {first.version}", f"or take {name} out of the targets"],
            where=compiled.where,
        )
        return


def _against_card(compiled: Compiled, target: Target) -> Iterator[Finding]:
    sm = f"sm_{target.capability.replace('.', '')}"
    first, kit = first_toolkit(sm), toolkit(compiled.nvcc)
    if first is None or (kit and sm in kit.sass):
        return
    found = f"{compiled.what}: nvcc {compiled.nvcc} compiles it"
    serving = capped(target.capability, compiled.nvcc)
    fix = [f"TORCH_CUDA_ARCH_LIST={serving}"] if serving else []
    if _numbers(compiled.nvcc) < _numbers(first.version):
        needed = f"nvcc >= {first.version} for {sm}, the machine code of {target.name or target.capability}"
        why = f"asked for the card's own code it stops: unsupported gpu architecture compute_{sm[3:]}"
        fix.append(f"CUDA toolkit >= {first.version}")
    elif kit:
        needed = f"an nvcc that still compiles {sm}"
        why = f"CUDA {kit.version} starts at {kit.sass_first}: support for older cards was taken out"
        fix.append(
            f"CUDA toolkit {first.version} or a later one of before CUDA {kit.version.partition('.')[0]}"
        )
    else:
        return
    yield finding("nvcc-target", found, needed=needed, why=why, fix=fix, where=compiled.where)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
