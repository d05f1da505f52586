"""What an image is made of."""

from dataclasses import dataclass
from pathlib import Path

from repro.model.bundle import Manifest
from repro.model.lock import Lock
from repro.model.snapshot import EvalSet, Snapshot


@dataclass(frozen=True)
class Contents:
    """A bundle's folder and the records in it; `arch_list` is TORCH_CUDA_ARCH_LIST, or empty."""

    folder: Path
    manifest: Manifest
    lock: Lock
    snapshot: Snapshot
    evalset: EvalSet
    arch_list: str = ""
