"""The files of a run that came from elsewhere: a folder or a tar of one, without links and odd names.

Nothing is unpacked by the archive's own words: a name and a file's bytes are all that is read of it.
"""

import os
import stat
import tarfile
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from repro.errors import ReproError
from repro.files import raise_if_full

_LONGEST_PART, _LONGEST = 255, 2048
_MOST = 1_000_000
_PIECE = 1 << 20
# First bytes of what a shell packs a tar into, and what takes that off.
_PACKED = (
    (b"\x1f\x8b", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd -d"),
    (b"\xfd7zXZ\0", "unxz"),
    (b"BZh", "bunzip2"),
)


def unreadable(place: str, found: str, needs: str = "", tries: tuple[str, ...] = ()) -> ReproError:
    """The error for what is no run, or is one that is not taken."""
    return ReproError(
        "import-run-unreadable",
        f"`{place}` cannot be taken as a run",
        found=_shown(found),
        needs=needs or "a run's folder, or a tar of one, with attempt-1/run.json in it",
        done="nothing was written",
        tries=tries or ("tar -cf run.tar FOLDER      (where the run lies, with FOLDER as --out had it)",),
    )


@dataclass(frozen=True)
class Member:
    """A regular file: its name below the folder or in the archive, size in bytes, content to be read once."""

    name: str
    size: int
    data: IO[bytes]


class Source:
    """A run's files, which may be read more than once. `links` names those links that were passed over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.links: list[str] = []

    def members(self) -> Iterator[Member]:
        """Every regular file; raises import-run-unreadable."""
        self.links = []
        names = _Names()
        for number, member in enumerate(self._all()):
            fault = names.fault(member.name) if number < _MOST else f"is one of more than {_MOST} files"
            if fault:
                raise self.refused(f"`{member.name}` {fault}")
            yield member

    def refused(self, found: str) -> ReproError:
        """The error that names this source."""
        return unreadable(str(self.path), found)

    def _all(self) -> Iterator[Member]:
        raise NotImplementedError


class _Names:
    """The names so far, to find two that some file system takes for one, and a file in a folder's place."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._files: set[str] = set()

    def fault(self, name: str) -> str:
        """Why one more file may not have that name; empty when it may."""
        if fault := _fault(name):
            return fault
        parts = name.split("/")
        paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        for path in paths:
            other = self._seen.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
            if other != path:
                return f"stands beside `{other}`: on some file systems they are one"
        if not self._files.isdisjoint(paths):
            return "stands twice, or below a file"
        self._files.add(name)
        return ""


class _Folder(Source):
    def _all(self) -> Iterator[Member]:
        for folder, subfolders, names in os.walk(self.path):
            subfolders.sort()
            for name in [*subfolders]:
                if (Path(folder) / name).is_symlink():
                    subfolders.remove(name)
                    names.append(name)
            for name in sorted(names):
                path = Path(folder) / name
                mode = path.lstat().st_mode
                relative = path.relative_to(self.path).as_posix()
                if stat.S_ISLNK(mode):
                    self.links.append(relative)
                elif not stat.S_ISREG(mode):
                    raise self.refused(f"`{relative}` is neither a file nor a folder")
                else:
                    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as data:
                        yield Member(relative, os.fstat(data.fileno()).st_size, data)


class _Tar(Source):
    def _all(self) -> Iterator[Member]:
        try:
            with tarfile.open(self.path, "r:", errorlevel=2) as archive:
                for entry in archive:
                    yield from self._member(archive, entry)
                self._check_end(archive.offset)
        except ReproError:
            raise
        except (tarfile.TarError, EOFError, ValueError, OverflowError, ArithmeticError) as problem:
            raise self.refused(f"the archive is damaged: {problem}") from problem

    def _check_end(self, offset: int) -> None:
        """The library takes a damaged header for the end; the end is two empty blocks."""
        with self.path.open("rb") as file:
            file.seek(offset)
            if file.read(2 * tarfile.BLOCKSIZE) != bytes(2 * tarfile.BLOCKSIZE):
                raise self.refused(f"the archive is damaged, or ends early, at byte {offset}")

    def _member(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[Member]:
        name = entry.name.removeprefix("./").rstrip("/") if entry.isdir() else entry.name.removeprefix("./")
        if entry.issym():
            self.links.append(name)
        elif entry.isdir():
            if name not in ("", ".") and (fault := _fault(name)):
                raise self.refused(f"`{name}` {fault}")
        elif not entry.isreg() or entry.issparse():
            raise self.refused(f"`{name}` is neither a file nor a folder")
        elif (data := archive.extractfile(entry)) is not None:
            yield Member(name, entry.size, data)


def open_source(path: Path) -> Source:
    """The files of a folder or of a tar, not yet read; raises import-run-unreadable."""
    if path.is_dir():
        return _Folder(path)
    if not path.is_file():
        raise unreadable(str(path), "no such file or folder")
    with path.open("rb") as file:
        start = file.read(512)
    for magic, program in _PACKED:
        if start.startswith(magic):
            found, needs = "a compressed file", "the tar itself, which says how long it is"
            raise unreadable(
                str(path), found, needs, (f"{program} -k {path}      (and name what it writes)",)
            )
    return _Tar(path)


def pieces(member: Member) -> Iterator[bytes]:
    """A member's content, all of the size that was declared; raises import-run-unreadable."""
    left = member.size
    try:
        while left and (piece := member.data.read(min(left, _PIECE))):
            left -= len(piece)
            yield piece
    except tarfile.TarError as problem:
        raise unreadable(member.name, f"the archive is damaged: {problem}") from problem
    if left:
        raise unreadable(member.name, f"it ends {left} bytes early")


def copy(member: Member, target: Path) -> None:
    """Write a member's content to a new file; raises import-run-unreadable for a short one, disk-full."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            file.writelines(pieces(member))
    except OSError as problem:
        raise_if_full(problem, target)
        raise


def _fault(name: str) -> str:
    """Why no file may have that name; empty when it may."""
    with suppress(UnicodeEncodeError):
        size = len(name.encode())
        parts = name.split("/")
        if {"", ".", ".."} & set(parts):
            return "leads out of the run's folder"
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
            return "holds control characters"
        if size > _LONGEST or any(len(part.encode()) > _LONGEST_PART for part in parts):
            return f"is longer than {_LONGEST_PART} bytes a part, or than {_LONGEST} bytes"
        return ""
    return "is not text in UTF-8"


def _shown(text: str) -> str:
    """Text of an archive's own, without what would move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
