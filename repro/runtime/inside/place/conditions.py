"""All that can change a number, read by the training process itself at its first step."""

import os
import sys
import warnings

from ... import machine, nvml
from ...files import write_json
from ...schema import SCHEMA
from .attention import candidates
from .flags import read_flags
from .libraries import build_text, cublas_version, readers
from .ownmodules import own_modules
from .packages import imported_packages


def write_conditions(recorder, world):
    """Write `conditions.json`, unless a process of this attempt has."""
    path = os.path.join(recorder.attempt, "conditions.json")
    if os.path.exists(path):
        return
    torch = recorder.torch
    seen = _seen_at_work(recorder)  # first: what is read below is no part of what the program read
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = machine.conditions()
        values.update(machine.read_all(_readers(torch, recorder.segment.layout)))
        values.update(machine.read_all(readers(torch)))
        values.update(read_flags(torch))
        values.update(own_modules())
        values.update(("packages." + k, v) for k, v in imported_packages().items())
    values.update(seen)
    values["world_size"] = world
    write_json(path, {"schema": SCHEMA, "values": values})


def _seen_at_work(recorder):
    """What only the recorder knows: autocast, scaler, seeding, the loader, files and folders."""
    found = {
        "flags.autocast": recorder.forward.autocast or "unknown",
        "flags.grad_scaler": recorder.loss.scaler is not None,
    }
    if recorder.seeding is not None:
        found["seed.untouched"] = recorder.seeding
    found.update(recorder.loaders.conditions())
    if recorder.outside is not None:
        found.update(recorder.outside.stop())
    return found


def _readers(torch, layout):
    device = layout.device
    found = {
        "torch.version": lambda: str(torch.__version__),
        "torch.git": lambda: torch.version.git_version,
        "torch.build": lambda: build_text(torch),
        "torch.cuda": lambda: torch.version.cuda or "none",
        "cpu.capability": lambda: _cpu_capability(torch),
        "threads.intra": torch.get_num_threads,
        "threads.inter": torch.get_num_interop_threads,
        "device.type": lambda: device.type,
        "seed.torch": torch.initial_seed,
        "sdpa.candidates": lambda: candidates(torch, device),
        "flags.compiled": _compiled,
        "memory_format": lambda: _memory_format(torch, layout.params),
        "world.backend": lambda: _world_backend(torch),
    }
    if device.type == "cuda":
        found.update(_cuda_readers(torch, device))
    return found


def _cuda_readers(torch, device):
    return {
        "device.name": lambda: torch.cuda.get_device_name(device),
        "device.capability": lambda: "%d.%d" % torch.cuda.get_device_capability(device),
        "device.count": torch.cuda.device_count,
        "device.driver": lambda: nvml.module_version() or nvml.read()["driver"] or "unknown",
        "device.memory_bytes": lambda: torch.cuda.get_device_properties(device).total_memory,
        "device.multiprocessors": lambda: torch.cuda.get_device_properties(device).multi_processor_count,
        "torch.cudnn": torch.backends.cudnn.version,
        "torch.cublas": cublas_version,
        "torch.nccl": lambda: str(torch.cuda.nccl.version()),
        "torch.arch_list": lambda: " ".join(torch.cuda.get_arch_list()),
        "seed.cuda": torch.cuda.initial_seed,
    }


def _cpu_capability(torch):
    cpu = getattr(torch.backends, "cpu", None)
    if hasattr(cpu, "get_cpu_capability"):
        return cpu.get_cpu_capability()
    for line in torch.__config__.show().splitlines():
        if "CPU capability usage:" in line:
            return line.split(":", 1)[1].strip()
    return "unknown"


def _compiled():
    """Whether torch.compile has compiled anything so far."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return bool(counters and counters.get("frames", {}).get("ok"))


def _memory_format(torch, params):
    """`channels_last` where a four-dimensional weight is stored so; None without such a weight."""
    images = [p for p in params if p.dim() == 4 and min(p.shape[1:]) > 1]
    if not images or not hasattr(torch, "channels_last"):
        return None
    last = [p for p in images if not p.is_contiguous() and p.is_contiguous(memory_format=torch.channels_last)]
    return "channels_last" if last else "contiguous"


def _world_backend(torch):
    group = getattr(torch, "distributed", None)
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    return group.get_backend()
