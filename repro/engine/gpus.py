"""Ask an engine for NVIDIA cards, and explain a refusal.

Two ways lead there: a device name of the Container Device Interface (CDI), and the older device
request. CDI goes first where the engine says that it reads CDI specifications.
"""

import re
from typing import TYPE_CHECKING, Any

from repro.errors import ReproError

if TYPE_CHECKING:
    from docker.types import DeviceRequest

# Without `compute` CUDA is missing in the container, and with `gpu` alone the toolkit's default decides.
_CAPABILITIES = [["gpu", "compute", "utility"]]

# Texts as engines 20.10 to 28.5 give them; measured, see docs on engines.
_CAUSES = (
    (
        r"could not select device driver|unknown runtime specified nvidia",
        "the NVIDIA container toolkit is not set up for this engine",
        (
            "sudo apt-get install nvidia-container-toolkit",
            "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
        ),
    ),
    (
        r"unresolvable CDI devices",
        "no such device in the CDI specifications of this machine",
        ("nvidia-ctk cdi list", "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
    ),
    (
        r"unsatisfied condition: cuda",
        "the driver of this machine is older than the CUDA version that the image asks for",
        ("nvidia-smi", "rent a machine with a newer driver"),
    ),
    (
        r"unknown device",
        "this machine has no card of that number or UUID",
        ("nvidia-smi -L", "repro run BUNDLE --gpus all"),
    ),
    (
        r"nvml error|driver/library version mismatch|driver not loaded|libnvidia-ml",
        "the NVIDIA driver of this machine does not work",
        ("nvidia-smi",),
    ),
)


def wanted(gpus: str) -> list[str]:
    """The cards of a job's `gpus`: empty for "none", ["all"], or indices and UUIDs."""
    return [] if gpus in ("", "none") else [part.strip() for part in gpus.split(",") if part.strip()]


def offers_cdi(info: dict[str, Any]) -> bool:
    """Whether an engine's own description says that it reads CDI specifications."""
    return bool(info.get("CDISpecDirs"))


def request(gpus: str, way: str) -> "list[DeviceRequest]":
    """Device requests for a job's `gpus`; `way` is "cdi", "request" or "none"."""
    from docker.types import DeviceRequest

    names = wanted(gpus)
    if not names or way == "none":
        return []
    if way == "cdi":
        return [DeviceRequest(driver="cdi", device_ids=[f"nvidia.com/gpu={name}" for name in names])]
    if names == ["all"]:
        return [DeviceRequest(count=-1, capabilities=_CAPABILITIES)]
    return [DeviceRequest(device_ids=names, capabilities=_CAPABILITIES)]


def explain(gpus: str, text: str) -> ReproError | None:
    """The error for an engine's refusal to give cards, or None when it is about something else."""
    for pattern, cause, tries in _CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return ReproError(
                "gpu-unavailable",
                f"the engine cannot give the container the cards `{gpus}`: {cause}",
                found=text.strip().splitlines()[-1],
                done="nothing was run",
                tries=[*tries, "repro run BUNDLE --gpus none      (on the CPU)"][:3],
            )
    return None
