"""What travels in the image, so that the runtime can hold the live card and driver against the stack."""

from collections.abc import Iterable

import msgspec

from repro.check.code.serving import serving
from repro.check.known.official import is_cpu_only
from repro.check.known.remedy import remedies
from repro.model.check import Stack, Target
from repro.model.record import Json
from repro.tables.gpus import all_gpus, capability_number, find_gpu
from repro.tables.read import table
from repro.tables.toolkits import driver_floor, driver_of_cuda


def carried(stack: Stack, targets: Iterable[Target], *, allowed: bool = False) -> Json:
    """The content of `stack.json`, see `docs/formats.md`; the same for the same lock, tables and targets.

    `allowed` when the user built although a target will fail.
    """
    torch = stack.torch
    return {
        "schema": 1,
        "torch": {
            "version": torch.version,
            "tag": torch.tag,
            "cuda": torch.cuda,
            "sass": torch.sass,
            "ptx": torch.ptx,
            "basis": torch.basis,
        }
        if torch.version
        else None,
        "driver": {
            "floor": driver_floor(torch.cuda) if torch.cuda else "",
            "ptx_floor": driver_of_cuda(torch.cuda) if torch.cuda else "",
        },
        "targets": [_target(target) for target in targets if target.asked],
        "help": _help(stack),
        "precision": stack.precision,
        "memory_bytes": stack.memory_bytes,
        "allowed": allowed,
    }


def _target(target: Target) -> Json:
    document: Json = msgspec.to_builtins(target)
    document.pop("driver_cuda")
    return document | {"names": _names(target)}


def _names(target: Target) -> list[str]:
    """How NVML prints the card, or every card that the word may mean."""
    gpu = find_gpu(target.asked)
    keys = (gpu.stands_for or (gpu.key,)) if gpu else ()
    return [name for card in all_gpus() if card.key in keys for name in card.device_names]


def _help(stack: Stack) -> Json:
    """Words of the host's rules that need its tables: a finding in the container then tells the same fix."""
    errors: Json = table("cuda_init_errors")["error"]
    capabilities = sorted({gpu.capability for gpu in all_gpus()}, key=capability_number)
    fixes = {c: remedies(stack, Target(capability=c)) for c in capabilities if _without_code(stack, c)}
    return {
        "cuda_init_errors": {
            code: {"means": row["means"], "fix": row["fix"]} for code, row in errors.items()
        },
        "code_fixes": {capability: fix for capability, fix in fixes.items() if fix},
    }


def _without_code(stack: Stack, capability: str) -> bool:
    torch = stack.torch
    if torch.sass is None:
        return is_cpu_only(stack)
    return serving(torch.sass, torch.ptx or (), capability)[0] == "none"
