"""Where this tool keeps things on the host: the cache, and where its own files lie."""

import os
from pathlib import Path

import platformdirs


def cache() -> Path:
    """Folder for wheels and resolved locks; `REPRO_CACHE` moves it. Safe to delete at any time."""
    chosen = os.environ.get("REPRO_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("reprobundle"))


def template_folder() -> Path:
    """Folder with `Dockerfile.j2`: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


def runtime_folder() -> Path:
    """Folder whose files are copied into a bundle as `repro_runtime`."""
    return Path(__file__).parent / "runtime"
