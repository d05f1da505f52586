"""Makes fat binaries and the libraries that hold them, byte by byte, and reads fixtures."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

from repro.scan.fatbin.container import Code
from repro.scan.fatbin.search import Search
from repro.scan.fatbin.walk import walk
from repro.scan.reader import Bytes, MemoryBytes

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "fatbin"
EXPECTED: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text())["fixtures"]

SASS, PTX, LTO = 2, 1, 8
PROGBITS, RELA, NOBITS = 1, 4, 8
ALLOC, EXEC = 2, 4
BASE = 0x200000  # address of byte 0 of a made library


def image(
    kind: int = SASS,
    arch: int = 80,
    payload: bytes = bytes(16),
    *,
    header: int = 64,
    padded: int | None = None,
    flags: int = 0x11,
    version: tuple[int, int] = (1, 8),
) -> bytes:
    padded = len(payload) if padded is None else padded
    major, minor = version
    words = (kind, 0x0101, header, padded, 0, 0, minor, major, arch, 0, 0, flags, 0, 0)
    return struct.pack("<HHIQIIHHIIIQQQ", *words).ljust(min(header, 4096), b"\0") + payload


def container(*images: bytes, size: int | None = None, header: int = 16, version: int = 1) -> bytes:
    body = b"".join(images)
    size = len(body) if size is None else size
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", version, header, size).ljust(header, b"\0") + body


def section(name: str, data: bytes, kind: int = PROGBITS, flags: int = ALLOC) -> tuple[str, bytes, int, int]:
    return name, data, kind, flags


def elf(*sections: tuple[str, bytes, int, int], machine: int = 62, many: bool = False) -> bytes:
    """A shared object of these sections, each at an offset that 8 divides; address = offset + BASE.

    With `many`, number of sections and of the names' section stand in entry 0, as for more than 65279.
    """
    names, places, body = b"\0", [], bytearray(64)
    for name, data, kind, flags in (*sections, section(".shstrtab", b"", 3, 0)):
        place = len(names)
        names += name.encode() + b"\0"
        body += bytes(-len(body) % 8)
        data = names if name == ".shstrtab" else data
        places.append((place, kind, flags, BASE + len(body), len(body), len(data)))
        body += b"" if kind == NOBITS else data
    body += bytes(-len(body) % 8)
    count = len(places) + 1
    empty = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count, count - 1, 0, 0, 0) if many else bytes(64)
    table = empty + b"".join(struct.pack("<IIQQQQIIQQ", *p, 0, 0, 8, 0) for p in places)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    shape = (0, 0xFFFF) if many else (count, count - 1)
    head = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, machine, 1, 0, 0, len(body), 0, 64, 0, 0, 64, *shape)
    return head + bytes(body[64:]) + table


def library(
    *containers: bytes, versions: tuple[int, ...] = (), reloc: bytes = b"", data: bytes = b"", **options: Any
) -> bytes:
    """A library whose containers are registered with these versions (0: not), all 1 by default."""
    versions = versions or (1,) * len(containers)
    registered = [n for n, version in enumerate(versions) if version]
    entries = 24 * len(registered)
    wrappers = 64 + entries  # the relocations come first
    code = wrappers + entries
    starts = [code + sum(map(len, containers[:n])) for n in range(len(containers))]
    fields = [BASE + wrappers + 24 * place + 8 for place in range(len(registered))]
    rela = [struct.pack("<QQQ", f, 8, BASE + starts[n]) for f, n in zip(fields, registered, strict=True)]
    wraps = [struct.pack("<IIQQ", 0x466243B1, versions[n], 0, 0) for n in registered]
    parts = [
        section(".rela.dyn", b"".join(rela), RELA),
        section(".nvFatBinSegment", b"".join(wraps)),
        section(".nv_fatbin", b"".join(containers)),
        section("__nv_relfatbin", reloc),
        section(".data", data),
        section(".text", b"\x90" * 64, flags=ALLOC | EXEC),
    ]
    return elf(*[part for part in parts if part[1]], **options)


def stream(data: bytes, chunk: int, reader: Bytes | None = None, *, deep: bool = False) -> Code:
    """What the search says of bytes that go by in chunks of this size."""
    search = Search(len(data))
    for start in range(0, len(data), chunk):
        search.feed(data[start : start + chunk])
    return search.finish(reader or MemoryBytes(data), deep)


class ZipBytes:
    """Reads a member of a zip archive at any place."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        self.size = archive.getinfo(name).file_size

    def read(self, offset: int, length: int) -> bytes:
        with self._archive.open(self._name) as member:
            member.seek(offset)
            return member.read(length)


def told(code: Code) -> list[dict[str, Any]]:
    """The containers in the words of expected.json."""
    where = {"exec": ".nv_fatbin" if code.form == "elf" else "file", "reloc": "__nv_relfatbin"}
    return [
        {
            "where": where.get(c.section, c.section),
            "file_offset": c.offset,
            "size": c.size,
            "wrapper_version": c.wrapper or None,
            "images": [
                {
                    "kind": i.kind,
                    "arch": i.arch,
                    "header_size": i.header_size,
                    "padded_size": i.padded_size,
                    "flags": hex(i.flags),
                    "compression": i.compression,
                    "version": i.version,
                }
                for i in c.images
            ],
            "judged": c.judged,
        }
        for c in code.containers
    ]


def both(data: bytes) -> Code:
    """What the walk says, after making sure that the streams say the same."""
    code = walk(MemoryBytes(data))
    assert all(stream(data, size) == code for size in (1, 64, 4096))
    return code


def archs(code: Code) -> list[list[str]]:
    """Architectures by container."""
    return [[i.arch for i in c.images] for c in code.containers]
