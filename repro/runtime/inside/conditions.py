"""All that can change a number, read by the training process itself at its first step."""

import os
import warnings

from .. import machine, nvml
from ..files import write_json
from ..schema import SCHEMA
from .flags import read_flags
from .packages import imported_packages


def write_conditions(torch, attempt, device, world, autocast):
    """Write `conditions.json`, unless a process of this attempt has."""
    path = os.path.join(attempt, "conditions.json")
    if os.path.exists(path):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = machine.conditions()
        values.update(machine.read_all(_readers(torch, device)))
        values.update(read_flags(torch))
        values.update(("packages." + k, v) for k, v in imported_packages().items())
    values.update({"flags.autocast": autocast or "unknown", "world_size": world})
    write_json(path, {"schema": SCHEMA, "values": values})


def _readers(torch, device):
    readers = {
        "torch.version": lambda: str(torch.__version__),
        "torch.git": lambda: torch.version.git_version,
        "torch.build": torch.__config__.show,
        "torch.cuda": lambda: torch.version.cuda or "none",
        "cpu.capability": lambda: _cpu_capability(torch),
        "threads.intra": torch.get_num_threads,
        "threads.inter": torch.get_num_interop_threads,
        "device.type": lambda: device.type,
    }
    if device.type == "cuda":
        readers.update(_cuda_readers(torch, device))
    return readers


def _cuda_readers(torch, device):
    return {
        "device.name": lambda: torch.cuda.get_device_name(device),
        "device.capability": lambda: "%d.%d" % torch.cuda.get_device_capability(device),
        "device.count": torch.cuda.device_count,
        "device.driver": lambda: nvml.module_version() or nvml.read()["driver"] or "unknown",
        "device.memory_bytes": lambda: torch.cuda.get_device_properties(device).total_memory,
        "device.multiprocessors": lambda: torch.cuda.get_device_properties(device).multi_processor_count,
        "torch.cudnn": torch.backends.cudnn.version,
        "torch.nccl": lambda: str(torch.cuda.nccl.version()),
        "torch.arch_list": lambda: " ".join(torch.cuda.get_arch_list()),
    }


def _cpu_capability(torch):
    cpu = getattr(torch.backends, "cpu", None)
    if hasattr(cpu, "get_cpu_capability"):
        return cpu.get_cpu_capability()
    for line in torch.__config__.show().splitlines():
        if "CPU capability usage:" in line:
            return line.split(":", 1)[1].strip()
    return "unknown"
