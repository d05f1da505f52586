"""Header, section table and program headers of an ELF file (64-bit, little-endian), where the header says."""

import struct
from dataclasses import dataclass

from repro.scan.reader import Bytes, Unreadable, exactly

MAGIC = b"\x7fELF"
HEADER = 64
NOBITS = 8
RELA = 4
ALLOC = 0x2
EXECINSTR = 0x4
RELOCATABLE_OBJECT = 1
LOAD, DYNAMIC = 1, 2

_ENTRY = struct.Struct("<IIQQQQIIQQ")
_MOST_SECTIONS = 100_000
_PROGRAM = struct.Struct("<IIQQQQQQ")
_MOST_PROGRAMS = 4096
_LONGEST_NAME = 256
_LARGEST_NAMES = 16 << 20


@dataclass(frozen=True, slots=True)
class ElfSection:
    """One entry of the section table; `link` and `info` are numbers of other entries."""

    name: str
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def end(self) -> int:
        """Offset of the first byte after it."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Elf:
    """Header and sections.

    Attributes:
        machine: 62 x86-64, 183 aarch64, 190 CUDA; type: 1 object file, 2 program, 3 shared object.
    """

    machine: int
    type: int
    sections: tuple[ElfSection, ...]

    def named(self, *names: str) -> list[ElfSection]:
        """Sections of these names that have bytes in the file, in the order of the table."""
        return [s for s in self.sections if s.name in names and s.size and s.type != NOBITS]


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header: `size` bytes at `offset` of the file are at `addr` once the file is loaded."""

    type: int
    offset: int
    addr: int
    size: int


@dataclass(frozen=True, slots=True)
class ElfHeader:
    """Where the tables are.

    Attributes:
        programs: offset of the program headers; program: bytes of one; program_count: how many.
        table: offset of the section table; entry: bytes of one entry; count: its entries; names: number of
            the section with the names.
    """

    machine: int
    type: int
    flags: int
    abi: int
    programs: int
    program: int
    program_count: int
    table: int
    entry: int
    count: int
    names: int


def header(head: bytes) -> ElfHeader:
    """The header in the first 64 bytes; Unreadable when it is no 64-bit little-endian ELF file."""
    if not head:
        raise Unreadable("is empty")
    if head[:4] != MAGIC:
        raise Unreadable(f"is no ELF file: it starts with {head[:4].hex(' ')}")
    if len(head) < HEADER:
        raise Unreadable(f"cut at byte {len(head)}: an ELF header has {HEADER}")
    if head[4] != 2:
        raise Unreadable("is a 32-bit ELF file; GPU code is loaded by 64-bit programs alone")
    if head[5] != 1:
        raise Unreadable("is a big-endian ELF file; only little-endian ones are read")
    kind, machine = struct.unpack_from("<HH", head, 16)
    programs, table, flags, _, *sizes = struct.unpack_from("<QQIHHHHHH", head, 32)
    program, program_count, entry, count, names = sizes
    return ElfHeader(
        machine, kind, flags, head[8], programs, program, program_count, table, entry, count, names
    )


def segments(reader: Bytes) -> list[Segment]:
    """The program headers, none in an object file; Unreadable when they are not where the header says."""
    top = header(reader.read(0, HEADER))
    if not top.programs or not top.program_count:
        return []
    if top.program != _PROGRAM.size or top.program_count > _MOST_PROGRAMS:
        raise Unreadable(f"says it has {top.program_count} program headers of {top.program} bytes")
    data = exactly(reader, top.programs, _PROGRAM.size * top.program_count, "the program headers")
    rows = _PROGRAM.iter_unpack(data)
    return [Segment(kind, offset, addr, size) for kind, _, offset, addr, _, size, _, _ in rows]


def sections(reader: Bytes) -> Elf:
    """Header and section table of the file; Unreadable when they are not where the header says."""
    top = header(reader.read(0, HEADER))
    if not top.table:
        raise Unreadable("has no section table")
    if top.entry != _ENTRY.size:
        raise Unreadable(f"has section entries of {top.entry} bytes, not {_ENTRY.size}")
    first = _ENTRY.unpack(exactly(reader, top.table, _ENTRY.size, "the section table"))
    count = top.count or first[5]
    names = first[6] if top.names == 0xFFFF else top.names
    if not names < count <= _MOST_SECTIONS:
        raise Unreadable(f"says it has {count} sections, with names in section {names}")
    table = exactly(reader, top.table, count * _ENTRY.size, "the section table")
    entries = list(_ENTRY.iter_unpack(table))
    return Elf(top.machine, top.type, _named(entries, _names(reader, entries[names])))


def _names(reader: Bytes, entry: tuple[int, ...]) -> bytes:
    offset, size = entry[4], entry[5]
    if size > _LARGEST_NAMES:
        raise Unreadable(f"says its section names take {size} bytes")
    return exactly(reader, offset, size, "the table of section names")


def _named(entries: list[tuple[int, ...]], names: bytes) -> tuple[ElfSection, ...]:
    found = []
    for name, kind, flags, addr, offset, size, link, info, _, _ in entries:
        text = names[name : name + _LONGEST_NAME].split(b"\0", 1)[0].decode("latin-1")
        found.append(ElfSection(text, kind, flags, addr, offset, size, link, info))
    return tuple(found)
