"""The NVIDIA cards of this machine, as NVML reports them. No card is an answer, not an error."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """One card: name as NVML prints it, UUID, memory in bytes, compute capability, driver version."""

    name: str
    uuid: str
    memory_bytes: int
    capability: str
    driver: str


def cards() -> list[Card]:
    """All cards that NVML shows; empty where there is no driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        return [_card(pynvml.nvmlDeviceGetHandleByIndex(i)) for i in range(pynvml.nvmlDeviceGetCount())]
    finally:
        pynvml.nvmlShutdown()


def _card(handle: object) -> Card:
    import pynvml

    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Card(
        name=pynvml.nvmlDeviceGetName(handle),
        uuid=pynvml.nvmlDeviceGetUUID(handle),
        memory_bytes=pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        capability=f"{major}.{minor}",
        driver=pynvml.nvmlSystemGetDriverVersion(),
    )
