"""A file that goes by once, of which the parts are kept that its tables are in.

Symbols, relocations and versions are at the front, in the first segment; the names of symbols are there too,
or in a segment of their own at the very end where a tool has moved them; the dynamic table is where the
program headers say; registrations of GPU code are known by their magic number. What is kept depends on the
size of these parts, never on that of the file, and is packed: tables shrink to a quarter.
"""

import zlib

from repro.scan.elf.layout import DYNAMIC, HEADER, LOAD, header, segments
from repro.scan.reader import MemoryBytes, Unreadable

PIECE = 1 << 18  # bytes of a chunk
_HEAD = 18 << 20  # bytes; relocations of libtorch_cpu end at 17 MiB
_TAIL = 12 << 20  # bytes; names of libtorch_cuda_cu are 11 MB
_AROUND = 4  # pieces before and after the one where the section table starts
_MOST_MARKED = 32  # pieces
_OPEN = 4  # pieces that are kept unpacked while they are read

_REGISTRATIONS = (b"\xb1\x43\x62\x46\x01\0\0\0", b"\xb1\x43\x62\x46\x02\0\0\0")


class Passing:
    """Takes chunks of `PIECE` bytes (the last may be shorter) and reads from what was kept of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._count = 0
        self._packed: dict[int, bytes] = {}
        self._open: dict[int, bytes] = {}
        self._wanted: set[int] = set()
        self._marked: set[int] = set()

    def feed(self, chunk: bytes) -> None:
        """Take the next chunk."""
        number = self._count
        self._count += 1
        if number == 0:
            self._wanted = _wanted(chunk, self.size)
        if number in self._wanted or self._is_registration(number, chunk):
            self._packed[number] = zlib.compress(chunk, 1)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, fewer only at the end; Unreadable where they were not kept."""
        parts = []
        end = min(offset + length, self.size)
        while offset < end:
            part = self._piece(offset // PIECE)[offset % PIECE :][: end - offset]
            if not part:
                raise Unreadable(f"bytes {offset} to {end} went by and were not kept")
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def _piece(self, number: int) -> bytes:
        """A piece as it went by, empty when it was not kept."""
        if number not in self._open and number in self._packed:
            if len(self._open) == _OPEN:
                del self._open[next(iter(self._open))]
            self._open[number] = zlib.decompress(self._packed[number])
        return self._open.get(number, b"")

    def _is_registration(self, number: int, chunk: bytes) -> bool:
        """A piece that has registrations, or that goes on with those of the piece before."""
        if len(self._marked) < _MOST_MARKED and any(mark in chunk for mark in _REGISTRATIONS):
            self._marked |= {number, number + 1}
        return number in self._marked


def _wanted(first: bytes, size: int) -> set[int]:
    """Numbers of the pieces with the tables, by the first piece; head and tail where that does not say."""
    tail = _pieces(size - _TAIL, size)
    try:
        table = header(first[:HEADER]).table
        parts = segments(MemoryBytes(first))
    except Unreadable:
        return _pieces(0, _HEAD) | tail
    found = _pieces(table - _AROUND * PIECE, table + _AROUND * PIECE)
    loads = [part for part in parts if part.type == LOAD]
    dynamic = next((part for part in parts if part.type == DYNAMIC), None)
    if dynamic is None or not loads:
        return found | _pieces(0, _HEAD) | tail
    found |= _pieces(0, min(loads[0].offset + loads[0].size, _HEAD))
    found |= _pieces(dynamic.offset, dynamic.offset + PIECE)
    # A segment that begins at or behind the dynamic table was put there by a tool, with the names in it.
    return found | tail if any(part.offset >= dynamic.offset for part in loads) else found


def _pieces(start: int, end: int) -> set[int]:
    """Numbers of the pieces from byte `start` to before byte `end`."""
    return set(range(max(start, 0) // PIECE, -(-max(end, 0) // PIECE)))
