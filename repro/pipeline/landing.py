"""A bundle from elsewhere takes its place: held against its manifest once more, whole or not at all."""

import os
from pathlib import Path

from repro import bundle as bundles
from repro.events import Sink
from repro.files import Aside, sync_folder, sync_tree
from repro.pipeline.ready import damaged


def landed(aside: Aside, target: Path, sink: Sink) -> str:
    """Make the folder aside the one at `target`, or add to that what it lacks; what was done, in words.

    Raises:
        bundle-damaged: what arrived is not what its manifest says.
    """
    fresh = bundles.open_bundle(aside.path)
    if damage := bundles.verify(fresh, sink):
        raise damaged(fresh, damage)
    if os.path.lexists(target):
        return _completed(aside.path, target)
    aside.become(target)
    return str(target)


def _completed(fresh: Path, target: Path) -> str:
    """Add what the folder lacks and the file has: wheels, runs, what runs start from. What is there stays."""
    sync_tree(fresh)
    added = sum(_add(fresh, target, name) for name in _addable(fresh))
    if not (fresh / "thin.json").exists():
        (target / "thin.json").unlink(missing_ok=True)
    sync_tree(target / "wheels")
    sync_folder(target)
    return f"was there; {added} things were added"


def _addable(fresh: Path) -> list[str]:
    names = [f"{part}/{path.name}" for part in ("wheels", "runs") for path in (fresh / part).glob("*")]
    return [*sorted(names), "base", "seed", "reference", "signature.json"]


def _add(fresh: Path, target: Path, name: str) -> bool:
    if (target / name).exists() or not (fresh / name).exists():
        return False
    (target / name).parent.mkdir(exist_ok=True)
    os.replace(fresh / name, target / name)
    return True
