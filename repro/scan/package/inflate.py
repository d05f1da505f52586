"""One member of a zip archive: forward as chunks, then at random, and never on disk.

The one pass that looks for GPU code leaves copies of the decompressor behind, one every few MiB. A later
`read` starts from the nearest of them, so that the tables of a library (a few MB of a GB) cost little.
"""

import os
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from repro.scan.reader import Unreadable

PIECE = 1 << 18  # bytes of a chunk; a multiple of it is where every chunk begins
_INPUT = 1 << 15  # compressed bytes at a time: what a copied decompressor may hold besides its 40 KiB
_KEPT_PIECES = 8  # 2 MiB of what was read last
_SPACING = 8 << 20  # bytes between two copies at first
_COPIES = 32  # then every second one goes, and the distance doubles

_LOCAL = struct.Struct("<4s22xHH")  # signature, length of the name, length of what follows it
_DENSE_FROM = 64 << 20  # bytes; below that, any ratio that deflate allows does no harm
_DENSEST = 150  # real libraries reach 10, ones that are mostly zeros 40
_ENCRYPTED = 0x1


class _Stored:
    """Reads a member that is not compressed."""

    def __init__(self, fd: int, start: int, end: int) -> None:
        self._fd, self._at, self._end = fd, start, end

    def take(self, length: int) -> bytes:
        """The next `length` bytes, fewer only at the end."""
        data = os.pread(self._fd, min(length, self._end - self._at), self._at)
        self._at += len(data)
        return data

    def copy(self) -> "_Stored":
        """A second reader at the same place."""
        return _Stored(self._fd, self._at, self._end)


class _Deflated:
    """Reads a deflated member."""

    def __init__(self, fd: int, start: int, end: int, inflate: "zlib._Decompress | None" = None) -> None:
        self._fd, self._at, self._end = fd, start, end
        self._inflate = inflate or zlib.decompressobj(-zlib.MAX_WBITS)

    def take(self, length: int) -> bytes:
        """The next `length` bytes, fewer only at the end of the compressed data."""
        parts = []
        while length > 0 and not self._inflate.eof:
            packed = os.pread(self._fd, min(_INPUT, self._end - self._at), self._at)
            part = self._inflate.decompress(packed, length)
            self._at += len(packed) - len(self._inflate.unconsumed_tail)
            if not part and not packed:
                break
            parts.append(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def copy(self) -> "_Deflated":
        """A second reader at the same place."""
        return _Deflated(self._fd, self._at, self._end, self._inflate.copy())


_Way = _Stored | _Deflated
_WAYS: dict[int, type[_Stored] | type[_Deflated]] = {ZIP_STORED: _Stored, ZIP_DEFLATED: _Deflated}


class Member:
    """Content of one member; fits the protocol `repro.scan.reader.Bytes`.

    Args:
        fd: of the archive.
        info: its entry in the archive's directory.
        archive_size: bytes of the archive.
    """

    def __init__(self, fd: int, info: ZipInfo, archive_size: int) -> None:
        self.name, self.size = info.filename, info.file_size
        self._crc = info.CRC
        refuse(info)
        start = _content(fd, info)
        if start + info.compress_size > archive_size:
            raise Unreadable(f"cut: its {info.compress_size} bytes reach past the end of the archive")
        self._first: _Way = _WAYS[info.compress_type](fd, start, start + info.compress_size)
        self._copies: dict[int, _Way] = {0: self._first.copy()}
        self._spacing = _SPACING
        self._pieces: OrderedDict[int, bytes] = OrderedDict()
        self._live: tuple[int, _Way] = (0, self._first.copy())

    def chunks(self) -> Iterator[bytes]:
        """The whole content, once, in chunks of `PIECE` bytes.

        Raises Unreadable where it is not what the directory says, at the end where its checksum differs.
        """
        way, at, crc = self._first.copy(), 0, 0
        while at < self.size:
            if at % self._spacing == 0:
                self._leave(at, way)
            chunk = _exactly(way, min(PIECE, self.size - at), at, self.size)
            crc = zlib.crc32(chunk, crc)
            yield chunk
            at += len(chunk)
        if way.take(1):
            raise Unreadable(f"content goes on after the {self.size} bytes that the directory says")
        if crc != self._crc:
            raise Unreadable(f"content does not match its checksum (CRC-32 {crc:08x}, not {self._crc:08x})")

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, fewer only at the end of the member."""
        end = min(offset + length, self.size)
        parts = []
        while offset < end:
            piece = self._piece(offset // PIECE * PIECE)
            part = piece[offset % PIECE : offset % PIECE + end - offset]
            parts.append(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _leave(self, at: int, way: _Way) -> None:
        self._copies[at] = way.copy()
        if len(self._copies) > _COPIES:
            self._spacing *= 2
            self._copies = {at: copy for at, copy in self._copies.items() if at % self._spacing == 0}

    def _piece(self, start: int) -> bytes:
        if start in self._pieces:
            self._pieces.move_to_end(start)
            return self._pieces[start]
        at, way = self._nearest(start)
        piece = b""
        while at <= start:
            piece = _exactly(way, min(PIECE, self.size - at), at, self.size)
            at += len(piece)
        self._live = (at, way)
        self._pieces[start] = piece
        if len(self._pieces) > _KEPT_PIECES:
            self._pieces.popitem(last=False)
        return piece

    def _nearest(self, start: int) -> tuple[int, _Way]:
        at = max(at for at in self._copies if at <= start)
        if at <= self._live[0] <= start:
            return self._live
        return at, self._copies[at].copy()


def refuse(info: ZipInfo) -> None:
    """Raise Unreadable, with the reason, for a member that its entry already shows to be none of a wheel."""
    if info.flag_bits & _ENCRYPTED:
        raise Unreadable("encrypted: no wheel is, and pip cannot install it")
    if info.compress_type not in _WAYS:
        raise Unreadable(f"compressed by method {info.compress_type}; wheels are stored (0) or deflated (8)")
    if info.compress_type == ZIP_STORED and info.compress_size != info.file_size:
        raise Unreadable(f"stored, but with two sizes: {info.compress_size} and {info.file_size} bytes")
    if info.file_size >= _DENSE_FROM and info.file_size > _DENSEST * max(info.compress_size, 1):
        raise Unreadable(
            f"said to inflate from {info.compress_size} to {info.file_size} bytes: "
            f"no library is that empty, so it is not unpacked (zip bomb)"
        )


def _content(fd: int, info: ZipInfo) -> int:
    header = os.pread(fd, _LOCAL.size, info.header_offset)
    if len(header) < _LOCAL.size:
        raise Unreadable("cut: the archive ends before this member")
    signature, name_length, extra_length = _LOCAL.unpack(header)
    if signature != b"PK\x03\x04":
        raise Unreadable(f"the directory points to byte {info.header_offset}, where no member begins")
    return int(info.header_offset + _LOCAL.size + name_length + extra_length)


def _exactly(way: _Way, length: int, at: int, size: int) -> bytes:
    try:
        data = way.take(length)
    except zlib.error as problem:
        raise Unreadable(f"damaged after byte {at} of {size}: {problem}") from problem
    if len(data) < length:
        raise Unreadable(f"cut at byte {at + len(data)} of {size}")
    return data
