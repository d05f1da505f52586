"""The dynamic symbol table: what an object asks for, what it offers, and which names are torch's.

A table of torch has 100,000 names in 20 MB of text. Only the positions of the names are held, sorted, and the
text is read once from front to back.
"""

import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

from repro.scan.elf.layout import sections
from repro.scan.reader import Bytes, Unreadable, exactly

_SYMBOL = struct.Struct("<IBBHQQ")  # name, binding and type, visibility, section, value, size
_AT_A_TIME = 8192
_MOST_SYMBOLS = 1_000_000  # libtorch_cpu has 90,000
_DYNSYM = 11

_GLOBAL, _WEAK, _UNIQUE = 1, 2, 10
_OFFERED_BINDINGS = frozenset({_GLOBAL, _WEAK, _UNIQUE})
_SECTION_SYMBOL, _FILE_SYMBOL = 3, 4
_DEFAULT, _PROTECTED = 0, 3
_HIDDEN_VERSION = 0x8000

_WINDOW = 1 << 18  # bytes; no name is longer, those of templates reach 10,000
_SHORT = 1 << 14  # bytes of a path or of the name of a library
_LARGEST_NAMES = 1 << 28  # bytes; those of libtorch_cuda_cu are 11 MB
_SHARING = 4  # linkers let a name end in another, which never makes the names much more than the table
_BLOCK = 1 << 16

# Namespaces c10, at, torch and caffe2 in a mangled name, where a digit before would belong to a longer name;
# the Python binding; the C names of the stable ABI.
_OF_TORCH = re.compile(
    rb"_Z.*?(?<![0-9])(?:3c10|2at|5torch|6caffe2)|_Z[0-9]*THP|THP|aoti_torch_|torch_", re.DOTALL
)
_OLD_STRING = re.compile(r"Ss(?![a-z])")


class Strings:
    """The table of names of the dynamic symbols."""

    def __init__(self, reader: Bytes, offset: int, size: int) -> None:
        if offset + size > reader.size:
            raise Unreadable(f"cut at byte {reader.size}: the names should reach to byte {offset + size}")
        if size > _LARGEST_NAMES:
            raise Unreadable(f"says its names take {size} bytes")
        self._reader, self._offset, self._size = reader, offset, size

    def one(self, position: int) -> str:
        """The name of a library, folder or version at `position`."""
        name, end, _ = self._window(position, _SHORT).partition(b"\0")
        if not end:
            raise Unreadable(f"the name at byte {position} of its names does not end")
        return name.decode("utf-8", "backslashreplace")

    def many(self, positions: Iterable[int]) -> Iterator[bytes]:
        """Names at `positions`, which are sorted."""
        start, window, left = 0, b"", _SHARING * self._size
        for position in positions:
            stop = window.find(b"\0", position - start) if position < start + len(window) else -1
            if stop < 0:
                start, window = position, self._window(position, _WINDOW)
                stop = window.find(b"\0")
            if stop < 0:
                raise Unreadable(f"the name at byte {position} of its names does not end")
            left -= stop - (position - start) + 1
            if left < 0:
                raise Unreadable(
                    f"its symbols share their names: together they are over {_SHARING} times the table"
                )
            yield window[position - start : stop]

    def _window(self, position: int, length: int) -> bytes:
        if position >= self._size:
            raise Unreadable(f"a name is said to be at byte {position} of {self._size}")
        return self._reader.read(self._offset + position, min(length, self._size - position))


class SymbolTable:
    """`count` symbols from byte `start` on."""

    def __init__(self, reader: Bytes, start: int, count: int) -> None:
        if count > _MOST_SYMBOLS or start + count * _SYMBOL.size > reader.size:
            raise Unreadable(f"says it has {count} dynamic symbols")
        self._reader, self._start, self._count = reader, start, count

    def names(self, versions: int) -> tuple["array[int]", "array[int]"]:
        """Sorted positions of the names that are asked for (must be there, in no version) and offered.

        `versions` is the offset of the table of versions, 0 for none.
        """
        asked, offered = array("I"), array("I")
        for (name, info, other, section, _, _), version in self._rows(versions):
            binding = info >> 4
            if not section:
                if binding == _GLOBAL and version <= 1 and name:
                    asked.append(name)
            elif binding in _OFFERED_BINDINGS and version and _visible(info, other):
                offered.append(name)
        return array("I", sorted(asked)), array("I", sorted(offered))

    def _rows(self, versions: int) -> Iterator[tuple[tuple[int, ...], int]]:
        for first in range(1, self._count, _AT_A_TIME):
            count = min(_AT_A_TIME, self._count - first)
            place = self._start + first * _SYMBOL.size
            rows = _SYMBOL.iter_unpack(exactly(self._reader, place, count * _SYMBOL.size, "the symbols"))
            yield from zip(rows, self._versions(versions, first, count), strict=True)

    def _versions(self, start: int, first: int, count: int) -> Iterable[int]:
        if not start:
            return [1] * count
        data = exactly(self._reader, start + 2 * first, 2 * count, "the versions of the symbols")
        return (number & ~_HIDDEN_VERSION for (number,) in struct.iter_unpack("<H", data))


def _visible(info: int, other: int) -> bool:
    return other & 3 in (_DEFAULT, _PROTECTED) and info & 15 not in (_SECTION_SYMBOL, _FILE_SYMBOL)


def symbol_count(reader: Bytes, start: int, hashes: int, gnu_hashes: int) -> int:
    """Number of dynamic symbols, which no entry of the dynamic table says.

    From the section table if a section starts at `start`, the offset of the symbols, else from a hash table
    at one of the offsets given (0 for none): the older kind has the number, the newer kind its last chain.
    """
    count = _count_of_section(reader, start)
    if count is None and hashes:
        _, count = struct.unpack("<II", exactly(reader, hashes, 8, "the hash table"))
    if count is None and gnu_hashes:
        count = _count_of_chains(reader, gnu_hashes)
    if count is None:
        raise Unreadable("nothing in it says how many dynamic symbols it has")
    return int(count)


def _count_of_section(reader: Bytes, start: int) -> int | None:
    try:
        found = [s for s in sections(reader).sections if s.type == _DYNSYM and s.offset == start]
    except Unreadable:
        return None
    return found[0].size // _SYMBOL.size if found else None


def _count_of_chains(reader: Bytes, start: int) -> int | None:
    """One more than the last symbol of the last chain; None when no symbol is hashed."""
    buckets, first, filters, _ = struct.unpack("<IIII", exactly(reader, start, 16, "the hash table"))
    if buckets > _MOST_SYMBOLS:
        raise Unreadable(f"says its hash table has {buckets} buckets")
    at = start + 16 + 8 * filters
    last = max(array("I", exactly(reader, at, 4 * buckets, "the hash table")), default=0)
    if last < first:
        return first if first > 1 else None
    return last + _chain_length(reader, at + 4 * (buckets + last - first))


def _chain_length(reader: Bytes, start: int) -> int:
    """Number of hashes from byte `start` on, the one marked as last included."""
    for at in range(start, min(start + 4 * _MOST_SYMBOLS, reader.size), _BLOCK):
        data = reader.read(at, _BLOCK)
        for place in range(0, len(data) - 3, 4):
            if data[place] & 1:
                return (at - start + place) // 4 + 1
    raise Unreadable("the last chain of its hash table does not end")


def belongs_to_torch(name: bytes) -> bool:
    """Whether a mangled name is one of torch's, or takes or gives something of torch."""
    return _OF_TORCH.match(name) is not None


def digest(name: bytes) -> int:
    """A name in 8 bytes."""
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little")


def string_abi(names: list[str]) -> Literal["", "new", "old"]:
    """C++ string ABI that the mangled names speak of; empty when none has a string.

    The new one writes `__cxx11` wherever a string is passed: what looks like the old one counts only without.
    """
    if any("__cxx11" in name for name in names):
        return "new"
    return "old" if any(_OLD_STRING.search(name) for name in names) else ""
