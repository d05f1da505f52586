"""The files of a project that count: no environments, no build outputs."""

import os
from collections.abc import Iterator
from pathlib import Path

_SKIP = {
    ".git",
    ".hg",
    ".venv",
    "venv",
    "env",
    "node_modules",
    "__pycache__",
    ".repro",
    "build",
    "dist",
    ".tox",
    "site-packages",
}
_MAX_FILES = 20_000


def files_below(root: Path) -> Iterator[Path]:
    """Files of the project in a fixed order, without environments and build outputs; at most 20 000."""
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in _SKIP and not d.endswith(".egg-info"))
        for name in sorted(names):
            count += 1
            if count > _MAX_FILES:
                return
            yield Path(folder) / name
