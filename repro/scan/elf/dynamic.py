"""What a shared object asks of the loader: libraries, search paths, versions, symbols of torch.

Read as the loader does, by program headers and dynamic table, which no tool may strip; the section table is
asked for one number only. Format: System V ABI, chapter 5, and the GNU symbol versioning document.
"""

import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from repro.model.binary import ElfFacts
from repro.scan.elf.layout import DYNAMIC, HEADER, LOAD, Segment, header, segments
from repro.scan.elf.symbols import Strings, SymbolTable, belongs_to_torch, digest, string_abi, symbol_count
from repro.scan.reader import Bytes, Unreadable, exactly

_MACHINES = {62: "x86_64", 183: "aarch64"}
_ENTRY = struct.Struct("<qQ")
_LARGEST_TABLE = 1 << 14  # bytes, 1024 entries; real ones have 40

_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 4, 5, 6, 10, 14, 15, 29
_GNU_HASH, _VERSYM, _VERNEED, _VERNEEDNUM = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF

_NEED = struct.Struct("<HHIII")  # version, count, file, offset of the first name, offset of the next record
_NEED_NAME = struct.Struct("<IHHII")  # hash, flags, index, name, offset of the next one
_WEAK_NEED = 0x2
_MOST_NEEDS = 10_000
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts of one object, and 8-byte digests, sorted, of the names it offers to others."""

    facts: ElfFacts
    offered: "array[int]"


@dataclass(frozen=True, slots=True)
class _Dynamic:
    reader: Bytes
    entries: list[tuple[int, int]]
    loads: list[Segment]

    def first(self, tag: int) -> int:
        return next((value for t, value in self.entries if t == tag), 0)

    def offset(self, tag: int) -> int:
        """Where in the file the table lies that `tag` points to; 0 when there is none."""
        address = self.first(tag)
        if not address:
            return 0
        for part in self.loads:
            if part.addr <= address < part.addr + part.size:
                return part.offset + address - part.addr
        raise Unreadable(f"its dynamic table points to address {address:#x}, which is not in the file")


def surroundings(reader: Bytes, every_name: bool = False) -> Surroundings:
    """Facts, and what the object offers: names that belong to torch, or every one (torch's own files).

    An object file or a static program has no dynamic table: its facts are the machine alone. Unreadable when
    the tables are not what they say.
    """
    top = header(reader.read(0, HEADER))
    machine = _MACHINES.get(top.machine, str(top.machine))
    dynamic = _dynamic(reader)
    if dynamic is None:
        return Surroundings(ElfFacts(machine=machine), array("Q"))
    strings = Strings(reader, dynamic.offset(_STRTAB), dynamic.first(_STRSZ))
    torch_symbols, offered = _names(dynamic, strings, every_name)
    versions = _versions(dynamic, strings)
    soname = dynamic.first(_SONAME)
    facts = ElfFacts(
        machine=machine,
        soname=strings.one(soname) if soname else "",
        needed=[strings.one(value) for tag, value in dynamic.entries if tag == _NEEDED],
        runpath=_folders(dynamic, strings),
        glibc=versions.get("GLIBC", ""),
        glibcxx=versions.get("GLIBCXX", ""),
        cxxabi=versions.get("CXXABI", ""),
        torch_symbols=torch_symbols,
        string_abi=string_abi(torch_symbols),
    )
    return Surroundings(facts, offered)


def _dynamic(reader: Bytes) -> _Dynamic | None:
    parts = segments(reader)
    for part in parts:
        if part.type == DYNAMIC:
            loads = [other for other in parts if other.type == LOAD]
            return _Dynamic(reader, _entries(reader, part.offset, part.size), loads)
    return None


def _entries(reader: Bytes, offset: int, length: int) -> list[tuple[int, int]]:
    if length > _LARGEST_TABLE:
        raise Unreadable(f"says its dynamic table takes {length} bytes")
    found = []
    whole = length - length % _ENTRY.size
    for tag, value in _ENTRY.iter_unpack(exactly(reader, offset, whole, "the dynamic table")):
        if tag == 0:
            break
        found.append((tag, value))
    return found


def _folders(dynamic: _Dynamic, strings: Strings) -> list[str]:
    paths = [strings.one(value) for tag, value in dynamic.entries if tag in (_RPATH, _RUNPATH)]
    return [folder for path in paths for folder in path.split(":") if folder]


def _names(dynamic: _Dynamic, strings: Strings, every_name: bool) -> tuple[list[str], "array[int]"]:
    start = dynamic.offset(_SYMTAB)
    if not start:
        return [], array("Q")
    count = symbol_count(dynamic.reader, start, dynamic.offset(_HASH), dynamic.offset(_GNU_HASH))
    asked, offered = SymbolTable(dynamic.reader, start, count).names(dynamic.offset(_VERSYM))
    mine = {name for name in strings.many(asked) if belongs_to_torch(name)}
    found = sorted(digest(name) for name in strings.many(offered) if every_name or belongs_to_torch(name))
    return sorted(name.decode("utf-8", "backslashreplace") for name in mine), array("Q", found)


def _versions(dynamic: _Dynamic, strings: Strings) -> dict[str, str]:
    """Greatest version asked for, by family."""
    found: dict[str, tuple[int, ...]] = {}
    start = dynamic.offset(_VERNEED)
    for name in _needs(dynamic.reader, start, dynamic.first(_VERNEEDNUM)) if start else ():
        if said := _VERSION.fullmatch(strings.one(name)):
            version = tuple(map(int, said[2].split(".")))
            found[said[1]] = max(found.get(said[1], ()), version)
    return {family: ".".join(map(str, version)) for family, version in found.items()}


def _needs(reader: Bytes, at: int, count: int) -> Iterator[int]:
    """Positions of the version names that must be there, in the order of the file."""
    left = _MOST_NEEDS
    for _ in range(min(count, left)):
        _, names, _, first, following = _NEED.unpack(exactly(reader, at, _NEED.size, "the version needs"))
        name_at = at + first
        for _ in range(names):
            left -= 1
            if left < 0:
                raise Unreadable(f"asks for more than {_MOST_NEEDS} versions")
            row = exactly(reader, name_at, _NEED_NAME.size, "the version needs")
            _, flags, _, name, next_name = _NEED_NAME.unpack(row)
            if not flags & _WEAK_NEED:
                yield name
            name_at += next_name
            if not next_name:
                break
        at += following
        if not following:
            return
