"""Bytes of a file by position, whether it lies on a disk, in memory or in an archive."""

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self


class Unreadable(Exception):  # noqa: N818 - it says what the file is
    """A file that cannot be read for what it is; the only exception that leaves the readers."""


class Bytes(Protocol):
    """Random access to a file of known size."""

    @property
    def size(self) -> int:
        """Length of the whole file in bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, fewer than `length` only at the end of the file.

        Raises Unreadable where they cannot be had.
        """


class MemoryBytes:
    """A file that is in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        """Length of the whole file in bytes."""
        return len(self._data)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, fewer than `length` only at the end."""
        return self._data[offset : offset + length]


class NoBytes:
    """A file that went by as a stream and cannot be read again."""

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        """Nothing: raises Unreadable."""
        raise Unreadable(f"bytes {offset} to {offset + length} went by and cannot be read again")


class FileBytes:
    """A file on disk, read by `pread`.

    A map of the file would do as well, but counts the pages it touched as memory of ours and kills the
    process when somebody cuts the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            raise Unreadable(f"cannot be opened: {_reason(error)}") from error
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._fd)
            raise Unreadable("is no regular file")
        self.size = status.st_size

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, fewer than `length` only at the end of the file."""
        try:
            return os.pread(self._fd, length, offset)
        except OSError as error:
            raise Unreadable(f"cannot be read at byte {offset}: {_reason(error)}") from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def exactly(reader: Bytes, offset: int, length: int, what: str) -> bytes:
    """`length` bytes from `offset` on; Unreadable, naming `what`, when the file does not have them."""
    if offset + length > reader.size:
        raise Unreadable(f"cut at byte {reader.size}: {what} should reach to byte {offset + length}")
    data = reader.read(offset, length)
    if len(data) != length:
        raise Unreadable(f"{what} at byte {offset}: {len(data)} of {length} bytes could be read")
    return data
