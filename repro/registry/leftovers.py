"""What transfers that were never ended leave in the cache."""

from pathlib import Path
from time import time

import msgspec

_KEPT_SECONDS = 14 * 24 * 3600  # registries forget uploads sooner


def forget_old(folder: Path) -> None:
    """Remove what nobody went on with for two weeks."""
    for path in folder.glob("*"):
        try:
            if time() - path.stat().st_mtime > _KEPT_SECONDS:
                path.unlink()
        except OSError:
            continue


def noted(note: Path) -> str:
    """The address of an upload that was begun, or empty."""
    try:
        found = msgspec.json.decode(note.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return ""
    return found.get("address", "")
