"""Rules about the driver: what the build's CUDA needs, what the card needs, what translated code needs."""

import re
from collections.abc import Iterator

from repro.check.code.serving import serving
from repro.check.finding import finding
from repro.check.known.builds import candidates
from repro.check.known.called import torch_name
from repro.check.known.official import is_covered, is_cpu_only
from repro.check.known.remedy import driver_remedies
from repro.check.rules.named import ASK_CARD
from repro.model.check import Finding, Stack, Target
from repro.tables.drivers import driver_key, reaches
from repro.tables.gpus import find_gpu
from repro.tables.toolkits import driver_floor, driver_of_cuda, last_branch, toolkit

# Cards that NVIDIA's forward-compatibility package does not serve. Source: CUDA Compatibility guide.
_CONSUMER = ("geforce", "gtx", "titan")
_CONTAINER = re.compile(r"container|image|docker|\bngc\b|nvcr", re.IGNORECASE)


def driver_of_build(stack: Stack, target: Target) -> Iterator[Finding]:
    """The driver against the floor of the CUDA that torch was built with."""
    cudas = _cudas(stack)
    if not cudas or not (target.driver or target.driver_cuda):
        return
    answers = {cuda: runs_cuda(target, cuda) for cuda in cudas}
    refused = [cuda for cuda, answer in answers.items() if answer is False]
    if not refused:
        return
    every = len(refused) == len(answers)
    floor = driver_floor(refused[0])
    yield finding(
        "driver-too-old" if every else "driver-undecided",
        f"{driver_name(target)}; {torch_name(stack.torch)} needs CUDA {' or '.join(refused)}",
        needed=f"driver >= {floor}",
        why=_why(refused[0]),
        fix=[f"driver >= {floor}", *driver_remedies(stack, target), *_carried(stack, target)],
        where=stack.torch.where,
    )


def driver_of_card(_stack: Stack, target: Target) -> Iterator[Finding]:
    """The driver against the first and the last branch that serve the card."""
    branch = driver_branch(target)
    if not target.capability or not branch:
        return
    last = driver_key(last_branch(target.capability))
    if last and branch > last[0]:
        yield finding(
            "driver-dropped-card",
            f"{driver_name(target)}; {target.name} has capability {target.capability}",
            needed=f"a driver of branch R{last[0]} or older",
            fix=f"driver branch R{last[0]}",
        )
    known = find_gpu(target.asked) if target.gpu else None
    first = driver_key(known.min_driver_branch) if known else None
    if known and first and target.driver and branch < first[0]:
        yield finding(
            "driver-before-card",
            f"driver {target.driver}; {known.product} is known from branch {known.min_driver_branch} on",
            needed=f"driver >= {first[0]}",
            fix=[f"driver >= {first[0]}", ASK_CARD],
            source=f"table of cards: {known.source}",
        )


def driver_for_ptx(stack: Stack, target: Target) -> Iterator[Finding]:
    """Text is compiled by the driver, which must be as new as the toolkit that wrote it."""
    torch = stack.torch
    made_with = toolkit(torch.cuda)
    if torch.sass is None or not target.capability or made_with is None:
        return
    word, by = serving(torch.sass, torch.ptx or (), target.capability)
    floor = driver_of_cuda(torch.cuda)
    if (
        word == "jit"
        and runs_cuda(target, torch.cuda) is not False
        and knows_ptx(target, torch.cuda) is False
    ):
        yield finding(
            "driver-before-ptx",
            f"{driver_name(target)}; {by} was written by CUDA {torch.cuda} (PTX {made_with.ptx_isa})",
            needed=f"driver >= {floor}",
            fix=[f"driver >= {floor}", *driver_remedies(stack, target)],
            where=torch.where,
        )


def forward_compatibility(stack: Stack, target: Target) -> Iterator[Finding]:
    """A container brings a newer libcuda than the driver's; consumer cards refuse it."""
    torch, in_container = stack.torch, _in_container(stack)
    older = torch.cuda and knows_ptx(target, torch.cuda) is False
    if not in_container or not older or runs_cuda(target, torch.cuda) is False:
        return
    consumer = is_consumer(target)
    yield finding(
        "forward-compatibility-consumer" if consumer else "forward-compatibility",
        f"{driver_name(target)}, container for CUDA {torch.cuda}, {target.name or 'card not said'}",
        needed=f"driver >= {driver_of_cuda(torch.cuda)}, or a container without the cuda-compat libraries",
        fix=[f"driver >= {driver_of_cuda(torch.cuda)}", "take /usr/local/cuda/compat off LD_LIBRARY_PATH"],
        where=torch.where,
    )


def runs_cuda(target: Target, cuda: str) -> bool | None:
    """Whether the driver runs machine code of a CUDA version; None when that cannot be told.

    CUDA 11 and later have minor-version compatibility, earlier ones need the driver of their own toolkit.
    """
    if target.driver:
        return reaches(target.driver, driver_floor(cuda))
    if not target.driver_cuda or not cuda:
        return None
    have, need = _numbers(target.driver_cuda), _numbers(cuda)
    return have[0] >= need[0] if need[0] >= 11 else have >= need


def knows_ptx(target: Target, cuda: str) -> bool | None:
    """Whether the driver is at least as new as the toolkit: then it compiles its text; None when unknown."""
    if target.driver:
        return reaches(target.driver, driver_of_cuda(cuda))
    have, need = target.driver_cuda, cuda
    only_major = "." not in have and have == need.partition(".")[0]
    return None if not have or not need or only_major else _numbers(have) >= _numbers(need)


def driver_branch(target: Target) -> int:
    """Branch of the driver, 535; from the CUDA version that it prints where that is all; 0 for unknown."""
    key = driver_key(target.driver or driver_of_cuda(target.driver_cuda))
    return key[0] if key else 0


def driver_name(target: Target) -> str:
    """The driver for people."""
    return f"driver {target.driver}" if target.driver else f"a driver for CUDA {target.driver_cuda}"


def is_consumer(target: Target) -> bool:
    """Whether the card is of a consumer line."""
    known = find_gpu(target.asked) if target.gpu else None
    name = f"{target.asked} {target.name} {known.product if known else ''}".lower()
    return any(word in name for word in _CONSUMER)


def _cudas(stack: Stack) -> list[str]:
    """CUDA versions that the build may have been made with, oldest first."""
    if is_cpu_only(stack) or stack.system != "linux":
        return []
    if stack.torch.cuda:
        return [stack.torch.cuda]
    builds = candidates(stack.torch, stack.python) if is_covered(stack) else []
    return sorted({build.cuda for build in builds}, key=_numbers)


def _in_container(stack: Stack) -> bool:
    words = f"{stack.torch.asked} {stack.torch.index} {stack.detail}"
    return _CONTAINER.search(words) is not None


def _carried(stack: Stack, target: Target) -> list[str]:
    """What helps in a container on a card that forward compatibility serves; it is not taken for granted."""
    helps = _in_container(stack) and target.capability and not is_consumer(target)
    return ["or a container that carries cuda-compat, on a data-center card"] if helps else []


def _why(cuda: str) -> str:
    if _numbers(cuda)[0] >= 11:
        return (
            f"builds for CUDA {cuda.partition('.')[0]} run from that driver on, none of them on an older one"
        )
    return (
        "CUDA before 11 has no minor-version compatibility: the driver must be that of the toolkit or newer"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
