"""Labels that tell whose a container is, and the containers whose owner has died.

A tool that is killed outright cannot remove its container, which would then train unseen.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.engine.contract import OwnImage

if TYPE_CHECKING:
    from docker import DockerClient

OURS = "dev.reprobundle"
PID = "dev.reprobundle.pid"
RUN = "dev.reprobundle.run"
KEPT = "dev.reprobundle.kept"  # its record has not been fetched: only whoever attaches removes it
ID = "dev.reprobundle.id"
STAGE = "dev.reprobundle.stage"
_PLACE = "dev.reprobundle.place"
_LABELS = {OURS, STAGE}


@dataclass(frozen=True)
class Leftover:
    """A container that runs on though its owner is dead; `run` is the run's id, or empty."""

    id: str
    name: str
    run: str


def owner_labels() -> dict[str, str]:
    """Labels that name this very process, so that a reused process number is not taken for it."""
    return {OURS: "1", PID: f"{os.getpid()}:{_started(os.getpid())}", _PLACE: _place()}


def leftovers(client: "DockerClient", *, ended: bool = False) -> list[Leftover]:
    """Containers of this tool, made from here, whose process is no longer there: those that run.

    With `ended` those that do not: never started, or over, and removed by nobody.
    """
    found = []
    ours: dict[str, str | list[str] | bool] = {"label": [f"{OURS}=1", PID]}
    for container in client.containers.list(all=ended, filters=ours, ignore_removed=True):
        if ended and (container.status not in ("created", "exited", "dead") or KEPT in container.labels):
            continue
        labels = container.labels
        # Another machine or process namespace may use the same engine: its numbers mean nothing here.
        if labels.get(_PLACE) != _place() or _is_alive(labels[PID]):
            continue
        found.append(Leftover(container.id or "", container.name or "", labels.get(RUN, "")))
    return found


def _place() -> str:
    """This boot of this machine and this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "unknown"


def _started(pid: int) -> str:
    """Clock ticks from boot to the process's start: field 22 of its stat line (proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _is_alive(owner: str) -> bool:
    pid, _, started = owner.partition(":")
    return pid.isdigit() and bool(started) and _started(int(pid)) == started


def own_images(api: Any) -> list[OwnImage]:
    """Images with one of this tool's labels; how much is shared comes from the engine's own account."""
    rows = [row for row in api.df().get("Images") or () if _LABELS & set(row.get("Labels") or {})]
    return [_own(row) for row in sorted(rows, key=lambda row: -int(row.get("Created", 0)))]


def _own(row: Mapping[str, Any]) -> OwnImage:
    labels = row.get("Labels") or {}
    tags = tuple(tag for tag in row.get("RepoTags") or () if tag != "<none>:<none>")
    shared = max(int(row.get("SharedSize") or 0), 0)  # -1 where the engine did not count
    is_bundle = ID in labels
    return OwnImage(
        id=str(row["Id"]),
        tags=tags,
        title=str(labels.get("org.opencontainers.image.title", "")) if is_bundle else "",
        bytes=int(row.get("Size", 0)),
        own_bytes=max(int(row.get("Size", 0)) - shared, 0),
        base=not is_bundle and STAGE not in labels,
        used=int(row.get("Containers") or 0) > 0,
        passing=STAGE in labels,
    )
