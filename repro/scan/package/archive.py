"""A wheel as an archive: its directory, checked before a byte is unpacked."""

import io
import os
import stat
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from repro.errors import ReproError
from repro.scan.package.inflate import Member
from repro.scan.reader import Unreadable

_LARGEST_DIRECTORY = 8 << 20  # bytes; a torch wheel with 13,000 members has 1.5 MB
_LARGEST_WHOLE = 1 << 30  # bytes a wheel may inflate to whatever its size
_DENSEST = 150
_SHOWN = 32

_DAMAGE = (BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, struct.error, Unreadable)


class _Bounded(io.FileIO):
    """The file as `zipfile` reads it: the directory in one call, of the size that the file claims for it."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _LARGEST_DIRECTORY:
            raise Unreadable(f"its directory is said to take {size} bytes")
        return super().read(-1 if size is None else size)


class Archive:
    """An open wheel."""

    def __init__(self, path: Path, fd: int, size: int, infos: list[ZipInfo]) -> None:
        self.path, self.size, self._fd = path, size, fd
        self.infos = [info for info in infos if not info.is_dir()]
        self._times = Counter(info.filename for info in self.infos)

    def open(self, info: ZipInfo) -> Member:
        """One member to read; Unreadable when its entry cannot be true, or is one of two of its name."""
        times = self._times[info.filename]
        if times > 1:
            raise Unreadable(f"{times} members have this name: which one counts is not said")
        return Member(self._fd, info, self.size)


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """An open wheel whose directory makes sense.

    Raises:
        wheel-unreadable: no file that can be read, no zip archive, cut, or its sizes cannot be true.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as problem:
        raise unreadable(path, f"cannot be opened: {getattr(problem, 'strerror', problem)}") from problem
    try:
        yield _opened(path, fd)
    finally:
        os.close(fd)


def _opened(path: Path, fd: int) -> Archive:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise unreadable(path, "is no regular file")
    if not status.st_size:
        raise unreadable(path, "is empty (0 bytes)")
    try:
        with ZipFile(_Bounded(fd, closefd=False)) as directory:
            infos = directory.infolist()
    except OSError as problem:
        raise unreadable(path, f"cannot be read: {problem.strerror or problem}") from problem
    except _DAMAGE as problem:
        raise unreadable(path, _what_it_is(fd, status.st_size, problem)) from problem
    _plausible(path, status.st_size, infos)
    return Archive(path, fd, status.st_size, infos)


def _what_it_is(fd: int, size: int, problem: Exception) -> str:
    head = os.pread(fd, _SHOWN, 0)
    if not head.startswith(b"PK"):
        return f"is no wheel: it starts with {head!r}, and a zip archive with b'PK\\x03\\x04'"
    if isinstance(problem, Unreadable):
        return f"has a damaged directory: {problem}"
    return f"is cut or damaged: the directory that ends a zip archive is not in its {size} bytes ({problem})"


def _plausible(path: Path, size: int, infos: list[ZipInfo]) -> None:
    packed = sum(info.compress_size for info in infos)
    whole = sum(info.file_size for info in infos)
    if packed > size:
        raise unreadable(path, f"has members that overlap: together {packed} bytes, in a file of {size}")
    if whole > max(_LARGEST_WHOLE, _DENSEST * size):
        raise unreadable(path, f"is said to inflate from {size} to {whole} bytes, as only zip bombs do")


def unreadable(path: Path, what: str) -> ReproError:
    """The error for a wheel that cannot be read as a whole."""
    return ReproError(
        "wheel-unreadable",
        f"the wheel `{path.name}` {what}",
        found=str(path),
        needs="a whole wheel (.whl), as an index has it",
        done="nothing of it was unpacked or cached",
        tries=[f"python -m zipfile -t {path}", "download the file again, then repeat the command"],
    )
