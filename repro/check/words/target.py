"""A target from a card's name, a capability and a driver as people write them."""

import re

from repro.errors import ReproError
from repro.model.check import Target
from repro.tables.drivers import driver_key
from repro.tables.gpus import find_gpu


def target_from_words(gpu: str = "", capability: str = "", driver: str = "", driver_cuda: str = "") -> Target:
    """The card and driver that are meant; `gpu` empty for a target without a card.

    A card that is not in the table keeps its name and the capability that is said; without one it stays
    unknown, and `examine` says so.

    Raises:
        ReproError: `target-driver` or `target-driver-cuda` for text that is no version, `target-capability`.
    """
    if capability and not re.fullmatch(r"\d{1,2}\.\d", capability):
        raise _no_capability(capability)
    known = find_gpu(gpu) if gpu else None
    told = capability or (known.capability if known else "")
    mismatch = known is not None and known.capability != told
    return Target(
        asked=gpu or capability,
        gpu=known.key if known and not mismatch else "",
        name=(known.product if known and not mismatch else gpu)
        or (f"capability {capability}" if capability else ""),
        capability=told,
        memory_bytes=known.memory_bytes if known and not mismatch else None,
        driver=_driver(driver),
        driver_cuda=_driver_cuda(driver_cuda),
    )


def _driver(text: str) -> str:
    if text and driver_key(text) is None:
        hint = " It looks like a CUDA version." if re.fullmatch(r"\d{1,2}\.\d{1,2}", text.strip()) else ""
        raise ReproError(
            "target-driver",
            f"`{text}` is no version of NVIDIA's Linux driver.{hint}",
            found=f"driver: {text}",
            needs="a version such as 535.104.05, or a branch such as 535",
            tries=[
                "nvidia-smi --query-gpu=driver_version --format=csv,noheader",
                "repro check --driver 535.104.05",
            ],
        )
    return text.strip()


def _driver_cuda(text: str) -> str:
    if text and not re.fullmatch(r"\d{1,2}(\.\d{1,2})?", text.strip()):
        raise ReproError(
            "target-driver-cuda",
            f"`{text}` is no CUDA version.",
            found=f"CUDA version of the driver: {text}",
            needs="a version as nvidia-smi prints it in its first lines, such as 12.2",
            tries="repro check --driver-cuda 12.2",
        )
    return text.strip()


def _no_capability(text: str) -> ReproError:
    return ReproError(
        "target-capability",
        f"`{text}` is no compute capability.",
        found=f"capability: {text}",
        needs="major and minor, such as 8.6",
        tries="repro gpus",
    )
