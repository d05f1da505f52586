"""Write what a bundle's folder needs to be built by anyone: Dockerfile, .dockerignore, REPRODUCING.md."""

from pathlib import Path

from repro.files import write_whole
from repro.image.base.layers import VENDORED
from repro.image.plain.dockerfile import dockerignore, facts, render
from repro.image.plain.reproducing import reproducing
from repro.model.bundle import Manifest
from repro.model.lock import Lock
from repro.model.snapshot import Snapshot

NAMES = ("Dockerfile", ".dockerignore", "REPRODUCING.md")


def lay(folder: Path, manifest: Manifest, lock: Lock, snapshot: Snapshot, arch_list: str = "") -> None:
    """Write the three files into a bundle's folder; what the image gets lies there already."""
    given = facts(
        manifest.name,
        manifest.id,
        manifest.base,
        lock,
        snapshot,
        has_eval=(folder / "eval").is_dir(),
        has_params=(folder / "params").is_dir(),
        has_stack=(folder / "stack.json").is_file(),
        arch_list=arch_list,
        vendored=(folder / VENDORED).is_dir(),
    )
    write_whole(folder / "Dockerfile", render(given).encode())
    write_whole(folder / ".dockerignore", dockerignore().encode())
    write_whole(folder / "REPRODUCING.md", reproducing(given, vendored=(folder / VENDORED).is_dir()).encode())
