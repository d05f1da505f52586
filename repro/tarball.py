"""Tar archives that come out byte for byte the same for the same content.

Sorted members, owner 0 without names, modes folded to 0755/0644, one fixed time.
1980 and not 1970, because the zip format cannot hold earlier dates and a program
in the image may want to zip a file.
"""

import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

EPOCH = 315532800  # 1980-01-01T00:00:00Z


@dataclass(frozen=True)
class Member:
    """One entry. `source` is bytes, a path to read, or None for a folder; `link` makes a symlink."""

    name: str
    source: bytes | Path | None = None
    executable: bool = False
    link: str = ""


def write(out: IO[bytes], members: Iterable[Member]) -> None:
    """Write `members`, sorted by name, with all their parent folders, to `out`, which may be a pipe."""
    by_name = {m.name: m for m in members}
    for name in list(by_name):
        for parent in _parents(name):
            by_name.setdefault(parent, Member(parent))
    with tarfile.open(
        fileobj=out, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as tar:
        for name in sorted(by_name, key=lambda n: n.encode("utf-8", "surrogateescape")):
            _add(tar, by_name[name])


def _parents(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts)) if parts[i]]


def _add(tar: tarfile.TarFile, member: Member) -> None:
    info = tarfile.TarInfo(member.name)
    info.mtime = EPOCH
    info.mode = 0o755 if member.executable or (member.source is None and not member.link) else 0o644
    if member.link:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, member.link, 0o777
        tar.addfile(info)
    elif member.source is None:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    elif isinstance(member.source, bytes):
        info.size = len(member.source)
        tar.addfile(info, io.BytesIO(member.source))
    else:
        info.size = member.source.stat().st_size
        with member.source.open("rb") as f:
            tar.addfile(info, f)


def folder_members(folder: Path, prefix: str, *, skip: tuple[str, ...] = ("__pycache__",)) -> list[Member]:
    """Members for every file below `folder`, named `prefix/...`; links stay links."""
    found = []
    for path in sorted(folder.rglob("*")):
        if any(part in skip for part in path.relative_to(folder).parts):
            continue
        name = (
            f"{prefix}/{path.relative_to(folder).as_posix()}"
            if prefix
            else path.relative_to(folder).as_posix()
        )
        if path.is_symlink():
            found.append(Member(name, link=str(path.readlink())))
        elif path.is_file():
            found.append(Member(name, path, executable=bool(path.stat().st_mode & 0o100)))
        elif path.is_dir():
            found.append(Member(name))
    return found
