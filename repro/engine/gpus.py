"""Ask an engine for NVIDIA cards, and explain a refusal.

Two ways lead there: a device name of the Container Device Interface (CDI), and the older device
request. CDI goes first where the engine says that it reads CDI specifications.
"""

import re
from typing import TYPE_CHECKING, Any

from repro.errors import ReproError
from repro.redact import text as redacted

if TYPE_CHECKING:
    from docker.types import DeviceRequest

# Without `compute` CUDA is missing in the container, and with `gpu` alone the toolkit's default decides.
_CAPABILITIES = [["gpu", "compute", "utility"]]

_TOOLKIT = (
    "sudo apt-get install nvidia-container-toolkit",
    "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
)
_GENERATE = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
# The first Podman whose Docker-compatible interface honours a request for devices by their CDI names: 4.3.1
# was seen to drop every request, 5.4.2 to heed CDI's and drop the others; 5.4.0 is from backend.ai 13829.
_PODMAN_HEEDS = (5, 4)

# First match wins. Texts as engines 20.10 to 28.5 and the toolkit's hook give them, see tests/engine.
_CAUSES = (
    (
        r"unsatisfied condition: *(cuda|driver)|driver version is insufficient",
        "the driver of this machine is older than the CUDA version that the image asks for",
        (
            "nvidia-smi      (prints the driver and the newest CUDA that it runs)",
            "use a machine with a newer driver",
        ),
    ),
    (
        r"unsatisfied condition: *(arch|brand)",
        "the image is not meant for a GPU of this kind",
        ("nvidia-smi -L", "use a machine with another GPU"),
    ),
    (
        r"unknown device",
        "this machine has no GPU of that index or UUID",
        ("nvidia-smi -L", "repro run BUNDLE --gpus all"),
    ),
    (
        r"driver/library version mismatch",
        "the driver was updated, and the old kernel module is still loaded",
        ("sudo reboot", "nvidia-smi"),
    ),
    (
        r"nvml error|driver not loaded|libnvidia-ml|driver rpc error|stat failed: /dev/nvidia",
        "the NVIDIA driver of this machine is not installed, or not loaded",
        ("nvidia-smi", "sudo modprobe nvidia"),
    ),
    (
        r"(?s)(cgroup|bpf_prog).*operation not permitted|insufficient permissions",
        "the toolkit may not change device cgroups, as in a rootless engine",
        ("sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place", "use the rootful engine"),
    ),
    (
        r"error running (prestart )?hook|nvidia-container-cli",
        "the NVIDIA Container Toolkit refused",
        ("nvidia-container-cli info", "nvidia-smi"),
    ),
    (
        r"(?s)unresolvable CDI devices.*could not select device driver",
        "no CDI device has that name, and the engine has no NVIDIA runtime to fall back to",
        ("nvidia-ctk cdi list", _GENERATE, _TOOLKIT[0]),
    ),
    (
        r"unresolvable CDI devices|failed to inject CDI|CDI device injection failed",
        "no CDI device of this machine has that name",
        ("nvidia-ctk cdi list", _GENERATE),
    ),
    (
        r"nvidia\.com/gpu.*no such file or directory",
        "the engine took the CDI name of a GPU for a path: it serves no CDI devices",
        ("docker info --format '{{.CDISpecDirs}}'", *_TOOLKIT),
    ),
    (
        r'could not select device driver "cdi"',
        "CDI is not enabled in this engine",
        ('"features": {"cdi": true} in /etc/docker/daemon.json      (Docker 25 or later)', *_TOOLKIT),
    ),
    (
        r"could not select device driver|(unknown|invalid) runtime (specified|name:) nvidia",
        "the NVIDIA Container Toolkit is not set up for this engine",
        _TOOLKIT,
    ),
    (
        r"cannot set both Count and DeviceIDs",
        "the request names a number of GPUs and GPUs by name, and the engine takes one of the two",
        ("repro run BUNDLE --gpus all",),
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
    """The error for an engine's refusal to give cards, or None when it is about something else.

    `text` may hold several refusals, one after the other as the engine gave them.
    """
    for pattern, cause, tries in _CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return ReproError(
                "gpu-unavailable",
                f"the engine cannot give the container the cards `{gpus}`: {cause}",
                found=[line.strip() for line in redacted(text).strip().splitlines() if line.strip()][-3:],
                done="nothing was run",
                tries=[*tries, "repro run BUNDLE --gpus none      (on the CPU)"],
            )
    return None


def refuse_if_dropped(gpus: str, kind: str, version: str) -> None:
    """Raise gpu-unavailable where the engine is known to drop a request for cards without a word."""
    numbers = tuple(int(word) for word in re.findall(r"\d+", version)[:2])
    if not wanted(gpus) or kind != "podman" or not numbers or numbers >= _PODMAN_HEEDS:
        return
    raise ReproError(
        "gpu-unavailable",
        f"the engine would start the container without the cards `{gpus}`, and not say so",
        found=f"Podman {version}",
        needs=f"Podman {'.'.join(map(str, _PODMAN_HEEDS))} or later, or Docker",
        why="the Docker-compatible interface of older Podman drops a request for GPUs without an error",
        done="nothing was run",
        tries=[
            "podman run --device nvidia.com/gpu=all -v OUT:/out IMAGE, then repro import-run OUT BUNDLE",
            "repro run BUNDLE --engine inplace",
            "repro run BUNDLE --gpus none      (on the CPU)",
        ],
    )
