"""Streams that count, hash and stop."""

import hashlib
import io
from collections.abc import Callable
from typing import IO

from repro.tarread import RefusedError

Count = Callable[[int], object]
PIECE = 1 << 20


class Reading(io.RawIOBase):
    """A stream of which each piece is counted, and no more than `limit` bytes are taken."""

    def __init__(self, source: IO[bytes], count: Count, limit: int | None = None, over: str = "") -> None:
        self._source, self._count = source, count
        self._left, self._over = limit, over

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """The next bytes; raises RefusedError once there are more than there may be."""
        piece = self._source.read(min(len(buffer), PIECE))
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise RefusedError(self._over)
        self._count(len(piece))
        buffer[: len(piece)] = piece
        return len(piece)


class Writing(io.RawIOBase):
    """A stream that hands on what it gets, counted, with the digest of all of it."""

    def __init__(self, out: IO[bytes], count: Count) -> None:
        self._out, self._count = out, count
        self._digest = hashlib.sha256()
        self.bytes = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        """Hand on all of it."""
        self._out.write(data)
        self._digest.update(data)
        self.bytes += len(data)
        self._count(len(data))
        return len(data)

    @property
    def sha256(self) -> str:
        """Hex digest of what was written so far."""
        return self._digest.hexdigest()


def copy(source: IO[bytes], out: IO[bytes] | None = None) -> str:
    """Read a stream to its end, write it where `out` says, and return the hex SHA-256 of it."""
    digest = hashlib.sha256()
    while piece := source.read(PIECE):
        digest.update(piece)
        if out is not None:
            out.write(piece)
    return digest.hexdigest()
