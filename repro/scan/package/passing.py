"""A file that goes by once, of which the parts are kept that its tables are in.

Symbols, relocations and versions are in the first some MB; the names of symbols are there too, or at the very
end where a tool has moved them; the dynamic table is where the program headers say; registrations of GPU code
are known by their magic number. What is kept depends on the size of these parts, never on that of the file.
"""

import struct
from collections import deque

from repro.scan.elf.layout import HEADER, header
from repro.scan.reader import Unreadable

PIECE = 1 << 18  # bytes of a chunk
_HEAD = 72  # pieces: 18 MiB; relocations of libtorch_cpu end at 17
_TAIL = 48  # pieces: 12 MiB; names of libtorch_cuda_cu are 11
_AROUND = 4  # pieces before and after the one where the section table starts
_MOST_MARKED = 32  # pieces

_REGISTRATIONS = (b"\xb1\x43\x62\x46\x01\0\0\0", b"\xb1\x43\x62\x46\x02\0\0\0")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_DYNAMIC = 2


class Passing:
    """Takes chunks of `PIECE` bytes (the last may be shorter) and reads from what was kept of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._count = 0
        self._kept: dict[int, bytes] = {}
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=_TAIL)
        self._wanted: set[int] = set()
        self._marked: set[int] = set()

    def feed(self, chunk: bytes) -> None:
        """Take the next chunk."""
        number = self._count
        self._count += 1
        if number == 0:
            self._wanted = _wanted(chunk)
        if number < _HEAD or number in self._wanted or self._is_registration(number, chunk):
            self._kept[number] = chunk
        else:
            self._tail.append((number, chunk))

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, fewer only at the end; Unreadable where they were not kept."""
        pieces = self._kept | dict(self._tail)
        parts = []
        end = min(offset + length, self.size)
        while offset < end:
            piece = pieces.get(offset // PIECE, b"")[offset % PIECE :][: end - offset]
            if not piece:
                raise Unreadable(f"bytes {offset} to {end} went by and were not kept")
            parts.append(piece)
            offset += len(piece)
        return b"".join(parts)

    def _is_registration(self, number: int, chunk: bytes) -> bool:
        """A piece that has registrations, or that goes on with those of the piece before."""
        if len(self._marked) < _MOST_MARKED and any(mark in chunk for mark in _REGISTRATIONS):
            self._marked |= {number, number + 1}
        return number in self._marked


def _wanted(head: bytes) -> set[int]:
    """Numbers of the pieces with the dynamic table and around the section table, by the first piece."""
    try:
        top = header(head[:HEADER])
    except Unreadable:
        return set()
    first = top.table // PIECE
    return {*range(first - _AROUND, first + _AROUND + 1), *_dynamic(head)}


def _dynamic(head: bytes) -> set[int]:
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    if size != _PROGRAM.size or table + size * count > len(head):
        return set()
    rows = _PROGRAM.iter_unpack(head[table : table + size * count])
    starts = [offset // PIECE for kind, _, offset, *_ in rows if kind == _DYNAMIC]
    return {start + more for start in starts[:1] for more in (0, 1)}
