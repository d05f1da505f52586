"""Which containers a library registers with the driver, and so which of them can ever be loaded.

`.nvFatBinSegment` holds 24 bytes for each: magic, version (1 plain, 2 device link), address of the
container, one more address. In a shared object the address comes from a relative relocation.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from repro.scan.elf.layout import ALLOC, RELA, RELOCATABLE_OBJECT, Elf, ElfSection
from repro.scan.fatbin.container import Container
from repro.scan.reader import Bytes, Unreadable, exactly

SEGMENT = ".nvFatBinSegment"
RELOCATABLE = "__nv_relfatbin"

_WRAPPER = struct.Struct("<IIQQ")
_MAGIC = 0x466243B1
_MOST_WRAPPERS = 100_000
_MOST_SEGMENTS = 16  # sections with registrations; libraries have one
_RELOCATION = struct.Struct("<QQQ")
_RELATIVE = {62: 8, 183: 1027}  # R_X86_64_RELATIVE, R_AARCH64_RELATIVE
_BLOCK = _RELOCATION.size * (1 << 16)


def join(elf: Elf, reader: Bytes, containers: Sequence[Container]) -> list[Container]:
    """The containers with `wrapper` and `judged` filled; Unreadable when registrations cannot be had."""
    if not containers:
        return []
    versions = _registered(elf, reader)
    linked = bool(elf.named(RELOCATABLE))
    homes = sorted(elf.named(".nv_fatbin", RELOCATABLE), key=lambda section: section.offset)
    return [_judged(c, versions.get(_address(c, homes), 0), linked) for c in containers]


def by_section(containers: Sequence[Container]) -> list[Container]:
    """The containers judged without registrations: all that the driver could be asked for."""
    return [replace(c, judged=c.section == "exec" and bool(c.images)) for c in containers]


def _judged(container: Container, version: int, linked: bool) -> Container:
    """A device link's own container holds no kernels, unless there is relocatable code it was made of."""
    loaded = version == 1 or (version == 2 and linked)
    judged = loaded and container.section == "exec" and bool(container.images)
    return replace(container, wrapper=version, judged=judged)


def _address(container: Container, homes: Sequence[ElfSection]) -> int:
    """Where a container is in memory, by the sections in the order of the file; -1 outside of them."""
    after = bisect_right(homes, container.offset, key=lambda section: section.offset)
    home = homes[after - 1] if after else None
    return home.addr + container.offset - home.offset if home and container.offset < home.end else -1


def _registered(elf: Elf, reader: Bytes) -> dict[int, int]:
    """Version of the registration by address of the container."""
    if elf.type == RELOCATABLE_OBJECT:
        raise Unreadable("is an object file: its registrations are made when it is linked")
    segments = elf.named(SEGMENT)
    if len(segments) > _MOST_SEGMENTS:
        raise Unreadable(f"has {len(segments)} sections called {SEGMENT}")
    found: dict[int, int] = {}
    for segment in segments:
        data = _segment(segment, reader)
        targets = dict(_relocated(elf, reader, segment))
        for place in range(0, len(data) - _WRAPPER.size + 1, _WRAPPER.size):
            magic, version, address, _ = _WRAPPER.unpack_from(data, place)
            address = targets.get(segment.addr + place + 8, address)
            if magic == _MAGIC and version in (1, 2) and address:
                found.setdefault(address, version)
    return found


def _segment(segment: ElfSection, reader: Bytes) -> bytes:
    if segment.size > _MOST_WRAPPERS * _WRAPPER.size or segment.addr + segment.size >= 1 << 64:
        raise Unreadable(f"says its registrations take {segment.size} bytes at address {segment.addr}")
    return exactly(reader, segment.offset, segment.size, SEGMENT)


def _relocated(elf: Elf, reader: Bytes, segment: ElfSection) -> Iterator[tuple[int, int]]:
    """(address of the field, address it is given) of the relative relocations that fall in the segment."""
    relative = _RELATIVE.get(elf.machine)
    if relative is None:
        raise Unreadable(f"is for machine {elf.machine}, whose relocations are not known")
    for data in _relocations(elf, reader):
        for place in _places(data, segment):
            offset, info, addend = _RELOCATION.unpack_from(data, place)
            if info == relative and 0 <= offset - segment.addr < segment.size:
                yield offset, addend


def _relocations(elf: Elf, reader: Bytes) -> Iterator[bytes]:
    left = reader.size
    for section in elf.sections:
        if section.type != RELA or not section.flags & ALLOC:
            continue
        left -= section.size
        if left < 0:
            raise Unreadable("says its relocations take more bytes than the file has")
        for start in range(0, section.size, _BLOCK):
            yield exactly(reader, section.offset + start, min(_BLOCK, section.size - start), section.name)


def _places(data: bytes, segment: ElfSection) -> Iterator[int]:
    """Offsets of the entries whose address shares its upper bytes with the segment.

    A library has up to a million relocations; looking for the common bytes leaves a few thousand.
    """
    low = 2 if segment.size <= 1 << 16 else 3
    first, last = segment.addr >> 8 * low, segment.addr + segment.size - 1 >> 8 * low
    for page in range(first, last + 1):
        upper = page.to_bytes(8 - low, "little")
        hit = data.find(upper)
        while hit >= 0:
            place = hit - low
            if place >= 0 and place % _RELOCATION.size == 0 and place + _RELOCATION.size <= len(data):
                yield place
            hit = data.find(upper, hit + 1)
