"""The driver and the cards of this machine, as NVML reports them.

Asked through the one-file module `pynvml` of nvidia-ml-py, which lies in `vendor/` of a bundle's runtime;
a checkout uses the one that its Python has. What cannot be read is empty, with the reason in `problem`.
"""

import glob
import sys

NODES = ("/dev/nvidia[0-9]*", "/dev/dxg")


def read():
    """`driver` (`535.104.05`), `cards` (name, uuid, capability, memory_bytes), `present` and `problem`.

    `present` says whether this place has a card at all: one that NVML lists, or a device that a card's
    driver made, which a container without the library for NVML has, too.
    """
    found = {"driver": module_version(), "cards": [], "problem": ""}
    try:
        try:
            from .vendor import pynvml as nvml
        except ImportError:
            import pynvml as nvml
        nvml.nvmlInit()
    except Exception as problem:  # a module that is too new for this Python raises anything
        found["problem"] = _why(problem)
    else:
        try:
            found["driver"] = text(nvml.nvmlSystemGetDriverVersion())
            _read_cards(nvml, found)
        except nvml.NVMLError as problem:
            found["problem"] = _why(problem)
        finally:
            nvml.nvmlShutdown()
    found["present"] = bool(found["cards"] or [path for node in NODES for path in glob.glob(node)])
    return found


def module_version():
    """Version of the driver's kernel module; empty where there is none."""
    try:
        with open("/proc/driver/nvidia/version", encoding="ascii", errors="replace") as f:
            words = f.readline().split("Kernel Module")[1].split()
        return next(w for w in words if w[0].isdigit())
    except (OSError, IndexError, StopIteration):
        return ""


def text(value):
    """What NVML gave as text: bytes in older versions of its module."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _read_cards(nvml, found):
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            found["cards"].append(
                {
                    "name": text(nvml.nvmlDeviceGetName(handle)),
                    "uuid": text(nvml.nvmlDeviceGetUUID(handle)),
                    "capability": "%d.%d" % tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle)),
                    "memory_bytes": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                }
            )
        except nvml.NVMLError as problem:
            found["problem"] = "card %d: %s" % (index, _why(problem))


def _why(problem):
    if type(problem).__name__.startswith("NVMLError"):
        return "NVML: %s" % problem
    python = "%d.%d" % sys.version_info[:2]
    return "pynvml does not import on Python %s: %s: %s" % (python, type(problem).__name__, problem)
