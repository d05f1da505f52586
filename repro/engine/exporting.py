"""The files of an image as one forward stream, without starting anything in it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from repro.engine.ownership import owner_labels

# A container needs a command even when it is never started, and an image may name none.
_NEVER_RUN = ["/never-run"]
_PIECE = 1 << 21


@contextmanager
def exported(api: Any, reference: str) -> Iterator[IO[bytes]]:
    """The tar of the image's file system, through the SDK's lower level; the container is always removed."""
    made = api.create_container(reference, command=_NEVER_RUN, labels=owner_labels(), network_disabled=True)
    try:
        pieces = api.export(made["Id"], chunk_size=_PIECE)
        try:
            yield io.BufferedReader(Pieces(pieces), _PIECE)
        finally:
            pieces.close()  # lets go of the connection, however much was read
    finally:
        api.remove_container(made["Id"], force=True, v=True)


class Pieces(io.RawIOBase):
    """An iterator of byte strings as a file that is read once."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the piece at hand goes; 0 at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
