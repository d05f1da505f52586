"""Parts of a stream that are kept while it goes by: its head, and what surrounds the section table."""

from repro.scan.elf.layout import HEADER, header
from repro.scan.reader import Bytes, Unreadable

_AROUND = 1 << 20  # the table of section names is near the section table


class Kept:
    """Reads from what was kept, and from another reader what was not.

    Attributes:
        head: first 64 bytes of the file.
        at: bytes that went by.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.head = b""
        self.at = 0
        self._behind: Bytes | None = None
        self._window: tuple[int, int] | None = None
        self._kept = bytearray()
        self._start = 0

    def feed(self, chunk: bytes) -> None:
        """Keep what is worth keeping of the next bytes."""
        if len(self.head) < HEADER:
            self.head += chunk[: HEADER - len(self.head)]
        if self._window is None and len(self.head) == HEADER:
            self._window = _window(self.head)
        self._keep(chunk)
        self.at += len(chunk)

    def _keep(self, chunk: bytes) -> None:
        first, last = self._window or (0, 0)
        if first < self.at + len(chunk) and self.at < last:
            if not self._kept:
                self._start = max(first, self.at)
            self._kept += chunk[max(first - self.at, 0) : last - self.at]

    def before(self, behind: Bytes) -> None:
        """From now on read from `behind` what was not kept."""
        self._behind = behind

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on; Unreadable where nobody has them."""
        length = min(length, max(self.size - offset, 0))
        if offset + length <= len(self.head):
            return self.head[offset : offset + length]
        place = offset - self._start
        if place >= 0 and place + length <= len(self._kept):
            return bytes(self._kept[place : place + length])
        if self._behind is None:
            raise Unreadable(f"bytes {offset} to {offset + length} went by and were not kept")
        return self._behind.read(offset, length)


def _window(head: bytes) -> tuple[int, int]:
    try:
        table = header(head).table
    except Unreadable:
        return 0, 0
    return max(table - _AROUND, HEADER), table + _AROUND
