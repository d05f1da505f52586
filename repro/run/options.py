"""What a user may say about one run, and the id it gets."""

import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

from repro.model.run import plain_word
from repro.run.plan import Plan


@dataclass(frozen=True)
class RunOptions:
    """One run's own wishes; all of them are recorded.

    Attributes:
        params: folder with changed parameters, inside the run's folder; empty for those of the bundle.
        env: environment variables for the program, beside the engine's own.
        mounts: host folders by the name under which the program's working folder shows them.
        gpus: "none", "all", or indices or UUIDs with commas. shm_bytes: size of /dev/shm.
        gpu_count: how many cards "all" stands for there, 0 when that is not known.
        host: engine of another machine, `ssh://user@box`; empty for the one here.
        order: order number of the rental; stays on the host, never enters an image.
        plan: where it starts, what it keeps, where it ends.
    """

    label: str = ""
    order: str = ""
    host: str = ""
    params: str = ""
    env: dict[str, str] = field(default_factory=dict)
    mounts: dict[str, Path] = field(default_factory=dict)
    gpus: str = "none"
    gpu_count: int = 0
    network: bool = False
    shm_bytes: int = 8 << 30
    snapshot_every: int = 0
    plan: Plan = field(default_factory=Plan)


def new_run_id(name: str, card: str, label: str) -> str:
    """An id that sorts by time and names bundle, card and label: `20261130-094512-digits-cpu-3fa9c1.avx2`."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    words = "-".join(plain_word(word) for word in (stamp, name, card or "cpu", secrets.token_hex(3)))
    return f"{words}.{plain_word(label)}".rstrip(".")
