"""Recognises files that stand for others: Git LFS and git-annex pointers."""

import re
from pathlib import Path

from repro.files import sha256_file
from repro.snapshot.names import shown, size

# Source: git-lfs docs/spec.md: first line "version URL", keys sorted, below 1024 bytes.
_LFS = re.compile(
    rb"version https://(?:git-lfs\.github\.com/spec|hawser\.github\.com/spec)/v1\r?\n"
    rb"(?:ext-.*\n)*oid sha256:(?P<sha256>[0-9a-f]{64})\r?\nsize (?P<size>\d+)\s*"
)
# Source: git-annex internals, "pointer files": a path below /annex/objects/, below 32 kB.
_ANNEX = re.compile(rb"/annex/objects/(?P<key>[^\n/]+)\n?")
LARGEST = 1024


class Pointer:
    """What a pointer says about the real file: `sha256` and `bytes`, both empty for git-annex."""

    def __init__(self, own_size: int, sha256: str, num_bytes: int | None) -> None:
        self.own_size, self.sha256, self.bytes = own_size, sha256, num_bytes

    def text(self, path: str) -> str:
        """A sentence about the pointer at `path`."""
        kind = "Git LFS" if self.sha256 else "git-annex"
        real = f", the real file has {self.bytes} bytes" if self.bytes is not None else ""
        return f"{shown(path)} is a {kind} pointer of {size(self.own_size)}{real}"

    def command(self, path: str) -> str:
        """The command that fetches the real file."""
        return "git lfs pull" if self.sha256 else f"git annex get {shown(path)}"


def pointer(content: bytes) -> Pointer | None:
    """The pointer that `content` is, or None for ordinary content."""
    if len(content) > LARGEST:
        return None
    if match := _LFS.fullmatch(content):
        return Pointer(len(content), match["sha256"].decode(), int(match["size"]))
    if _ANNEX.fullmatch(content):
        return Pointer(len(content), "", None)
    return None


def is_real(found: Pointer, path: Path) -> bool:
    """Whether the file at `path` is the one that the pointer stands for."""
    if not found.sha256 or path.is_symlink() or not path.is_file() or path.stat().st_size != found.bytes:
        return False
    return sha256_file(path) == found.sha256


def stored(found: Pointer, store: Path, working: Path) -> Path | None:
    """The real file, in LFS's store or in the working tree, if it is there and its digest is right."""
    kept = store / "objects" / found.sha256[:2] / found.sha256[2:4] / found.sha256
    return next((path for path in (kept, working) if is_real(found, path)), None)
