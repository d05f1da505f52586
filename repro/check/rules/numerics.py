"""What makes results differ: between torch versions, and on this card against others. Notes only."""

from collections.abc import Iterator

from repro.check.finding import finding
from repro.model.check import Finding, Stack, Target
from repro.tables.changes import Change, applies, between, changes
from repro.tables.gpus import find_gpu

_BY_WAVE = "cuda-rng-launch-geometry"


def since_reference(stack: Stack, target: Target) -> Iterator[Finding]:
    """Changes of behaviour between the stack's torch and the one that its results are compared with."""
    torch, reference = stack.torch.version, stack.reference
    if not torch or not reference:
        return
    for change in between(torch, reference, target.capability, stack.torch.cuda):
        yield _tell("numerics-version", f"torch {torch} against {reference}: {change.what}", change)


def on_this_card(stack: Stack, target: Target) -> Iterator[Finding]:
    """Behaviour of the stack's torch that holds on cards like this one and not on every other."""
    torch = stack.torch.version
    if not torch or not target.capability or stack.torch.tag == "cpu":
        return
    for change in _holding(torch):
        if change.id == _BY_WAVE:
            yield _tell("numerics-card", change.what + _wave(target), change)
        elif change.applies_to.startswith("cc") and applies(change, target.capability, stack.torch.cuda):
            yield _tell("numerics-card", f"on {target.capability}: {change.what}", change)


def _holding(torch: str) -> list[Change]:
    """Changes of values that hold in a version of torch: those between it and a time before all of them."""
    held = {change.id for change in between("0.0", torch)}
    return [change for change in changes().values() if change.id in held and "values" in change.kind]


def _wave(target: Target) -> str:
    gpu = find_gpu(target.asked or target.gpu) if target.gpu or target.asked else None
    count = gpu.rng_wave_elements if gpu else None
    return f" On {target.name or target.gpu} this starts above {count:,} elements." if count else ""


def _tell(code: str, found: str, change: Change) -> Finding:
    return finding(code, found, fix=[change.pin] if change.pin else [], source=change.source, where=change.id)
