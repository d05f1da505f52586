"""The memory that the project needs, against what the card has."""

from collections.abc import Iterator

from repro.check.finding import finding
from repro.model.check import Finding, Stack, Target
from repro.tables.gpus import find_gpu, members

_GIB = 1 << 30
# Beside what a program asks for, CUDA's context, loaded kernels and workspaces take a few percent.
_NEARLY = 0.95


def memory_of_card(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on a need above or near the card's memory as NVML prints it; none when no need was said."""
    need, have = stack.memory_bytes, target.memory_bytes
    if need is None or not (target.capability or target.name or target.gpu):
        return
    asked = f"{_gib(need)} asked for"
    if have is None:
        yield finding(
            "memory-unknown",
            f"{asked}, the memory of {target.name or target.asked} is not known",
            needed="the memory of the card",
            fix="nvidia-smi --query-gpu=memory.total --format=csv",
            where="memory",
        )
    elif need > _NEARLY * have and (larger := _larger(target, need)):
        yield finding(
            "memory-depends",
            f"{asked}, {target.name} stands for several cards, from {_gib(have)} on",
            needed=f"a card with more than {_gib(int(need / _NEARLY))}: {', '.join(larger)}",
            fix=f"repro check --gpu {larger[0]}",
            where="memory",
        )
    elif need > have:
        yield _tell("memory-too-small", asked, need, have, target)
    elif need > _NEARLY * have:
        yield _tell("memory-tight", asked, need, have, target)


def _larger(target: Target, need: int) -> list[str]:
    """Those of the cards that the target's name stands for which have room for the need."""
    meant = find_gpu(target.asked)
    cards = members(meant) if meant and meant.stands_for else ()
    return [card.key for card in cards if card.memory_bytes and need <= _NEARLY * card.memory_bytes]


def _tell(code: str, asked: str, need: int, have: int, target: Target) -> Finding:
    return finding(
        code,
        f"{asked}, {target.name or target.gpu or 'the card'} has {_gib(have)}",
        needed=f"a card with more than {_gib(int(need / _NEARLY))}",
        fix=["a smaller batch with gradient accumulation", "a card with more memory"],
        where="memory",
    )


def _gib(count: int) -> str:
    return f"{count / _GIB:.1f} GiB"
