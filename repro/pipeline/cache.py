"""What the cache holds, by kind, and what may go: each entry can be made or fetched again.

A build trims it by itself to a limit, least recently used first. Entries used within the last day stay, so
that nothing goes that another build of this machine is using.
"""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError
from repro.files import sweep
from repro.model.sizes import bytes_of

LIMIT = "REPRO_CACHE_LIMIT"
_USUAL = 60 * 10**9
_FRESH_SECONDS = 24 * 3600
# Folder of the cache, what it holds in a word, how deep its entries lie.
_KINDS = (
    ("wheels", "wheels", 2),
    ("blobs/sha256", "layers of images", 1),
    ("layers", "lists of layers", 1),
    ("envs", "environments for running in place", 1),
    ("traces", "traces as columns", 1),
    ("scan", "facts of scanned files", 2),
    ("locks", "resolved locks", 1),
    ("partial", "interrupted downloads", 1),
    ("registry", "interrupted pushes and pulls", 2),
)


# Where things are made aside.
_ASIDE = ("scratch", "blobs/sha256")


@dataclass(frozen=True)
class Entry:
    """One thing in the cache: `kind` of the table, bytes on disk, seconds since it was used."""

    path: Path
    kind: str
    bytes: int
    idle: float


def entries(cache: Path) -> Iterator[Entry]:
    """All entries, in no order. What another process takes away meanwhile is passed over."""
    now = time.time()
    for folder, kind, depth in _KINDS:
        for path in (cache / folder).glob("/".join(["*"] * depth)):
            if path.name.startswith("."):  # being made, or a lock
                continue
            try:
                found = path.lstat()
                size = _bytes(path) if path.is_dir() else found.st_size
            except OSError:
                continue
            yield Entry(path, kind, size, now - max(found.st_mtime, found.st_atime))


def _bytes(folder: Path) -> int:
    total = 0
    for root, _folders, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(root) / name).lstat().st_size
            except OSError:
                continue
    return total


def limit() -> int:
    """Bytes that the cache may have: REPRO_CACHE_LIMIT (`40GB`), else 60 GB.

    Raises:
        cache-limit: the variable holds no size.
    """
    said = os.environ.get(LIMIT, "")
    if not said:
        return _USUAL
    found = bytes_of(said)
    if found is None:
        raise ReproError(
            "cache-limit",
            f"{LIMIT} is no size",
            found=f"`{said}`",
            needs="a size such as `40GB`",
            tries=[f"export {LIMIT}=40GB", f"unset {LIMIT}      (60 GB)"],
        )
    return found


def over(found: list[Entry], limit: int, *, idle: float = _FRESH_SECONDS) -> list[Entry]:
    """The least recently used entries that bring the cache below the limit; none that was used just now."""
    left = sum(entry.bytes for entry in found)
    gone = []
    for entry in sorted(found, key=lambda entry: -entry.idle):
        if left <= limit:
            break
        if entry.idle >= idle:
            gone.append(entry)
            left -= entry.bytes
    return gone


def trim(cache: Path) -> int:
    """Take away what killed processes left, and keep the cache below its limit; bytes given back."""
    for folder in _ASIDE:
        sweep(cache / folder)
    gone = over(list(entries(cache)), limit())
    return sum(remove(entry) for entry in gone)


def remove(entry: Entry) -> int:
    """Take one entry away; bytes that it had. One that is gone already counts as none."""
    try:
        if entry.path.is_dir() and not entry.path.is_symlink():
            shutil.rmtree(entry.path)
        else:
            entry.path.unlink()
    except OSError:
        return 0
    return entry.bytes
