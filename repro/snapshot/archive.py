"""Makes `code.tar` from git objects, and the id of the tree that it holds."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from repro import tarball
from repro.snapshot.repository import Entry

TOP = "code/"


def write(path: Path, entries: Iterable[Entry], contents: Mapping[str, bytes | Path]) -> None:
    """Write every file and link of `entries` below `code/`; `contents` is by path."""
    with path.open("wb") as out:
        tarball.write(out, [_member(e, contents[e.path]) for e in entries if not e.is_submodule])


def _member(entry: Entry, content: bytes | Path) -> tarball.Member:
    if entry.is_link:
        text = content if isinstance(content, bytes) else content.read_bytes()
        return tarball.Member(TOP + entry.path, link=os.fsdecode(text))
    return tarball.Member(TOP + entry.path, content, executable=entry.mode == "100755")


def tree_id(entries: Iterable[Entry]) -> str:
    """Git's id of the tree of these entries, which need not exist in any repository."""
    top: dict[bytes, Any] = {}
    for entry in entries:
        *folders, name = os.fsencode(entry.path).split(b"/")
        level = top
        for folder in folders:
            level = level.setdefault(folder, {})
        level[name] = entry
    return _hash(top, hashlib.sha1 if _short(top) else hashlib.sha256)


def _short(level: dict[bytes, Any]) -> bool:
    for item in level.values():
        return _short(item) if isinstance(item, dict) else len(item.oid) == 40
    return True


def _hash(level: dict[bytes, Any], kind: Any) -> str:
    rows = []
    for name, item in level.items():
        if isinstance(item, dict):
            rows.append((name + b"/", b"40000", name, bytes.fromhex(_hash(item, kind))))
        else:
            rows.append((name, item.mode.encode(), name, bytes.fromhex(item.oid)))
    # Git sorts folders as if their names ended in a slash.
    body = b"".join(b"%s %s\0%s" % (mode, name, oid) for _, mode, name, oid in sorted(rows))
    return str(kind(b"tree %d\0" % len(body) + body).hexdigest())


def blob_id(content: bytes | Path, like: str) -> str:
    """Git's id of a file's content, by the hash that `like` was made with."""
    kind = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    num_bytes = len(content) if isinstance(content, bytes) else content.stat().st_size
    digest = kind(b"blob %d\0" % num_bytes)
    if isinstance(content, bytes):
        digest.update(content)
    else:
        with content.open("rb") as f:
            while piece := f.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()
