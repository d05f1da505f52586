"""Headers of NVIDIA's fat binaries: pure functions over bytes, nothing is unpacked.

A container is what one compiled source file brings: 16 bytes of header, then images, each with a header
of 64 bytes or more and a payload. Architecture, kind, version and suffix stand in the plain header.
Format: `fatbinary_section.h` of the CUDA toolkit, and the files of released wheels.
"""

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from repro.model.binary import Kind, Section

MAGIC = b"\x50\xed\x55\xba"
CONTAINER_HEADER = 16
IMAGE_HEADER = 64
# Containers, images and false hits of the magic number in one file, each some 200 bytes of memory here; the
# fullest library known, libcufft.so.11 of cuFFT 11.3.3, has 23,531 images.
MOST_ENTRIES = 200_000

Form = Literal["elf", "fatbin", "cubin"]

_CONTAINER = struct.Struct("<4sHHQ")
_IMAGE = struct.Struct("<HHIQIIHHIIIQQQ")
_LARGEST_HEADER = 4096
_LARGEST_IMAGE_HEADER = 65535

_KINDS: dict[int, Kind] = {1: "ptx", 2: "sass", 8: "lto"}
_SEEN_KINDS = frozenset({1, 2, 4, 8, 0x10, 0x40})
_SUFFIXES = ((0x100000, "a"), (0x200000, "f"))
_COMPRESSIONS = ((0x8000, "zstd"), (0x2000, "lz4"), (0x1000, "old"))


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a container.

    Attributes:
        arch: `80`, `90a`, `100f`.
        header_size, padded_size: bytes of header and payload; the next image follows them.
        compression: `zstd`, `lz4`, `old`, or None.
        version: of the PTX language for `ptx`; of the format for the others.
    """

    kind: Kind
    arch: str
    header_size: int
    padded_size: int
    flags: int
    compression: str | None
    version: str


@dataclass(frozen=True, slots=True)
class Container:
    """What one compiled source file brings.

    Attributes:
        section: `exec`, `reloc` or `data`, as in the model.
        offset: where it starts in the file; size: its bytes, header included.
        wrapper: version of the registration that points at it; 0 when none was found.
        judged: the driver can be asked for it.
    """

    section: Section
    offset: int
    size: int
    images: tuple[Image, ...] = ()
    wrapper: int = 0
    judged: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """GPU code of one file.

    Attributes:
        form: `fatbin` is a bare container file, `cubin` bare machine code.
        gaps: (offset, bytes) inside the fatbin sections that belong to no container.
        problems: what could not be read, one sentence each.
        joined: registrations were matched with containers.
    """

    form: Form
    containers: tuple[Container, ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    problems: tuple[str, ...] = ()
    joined: bool = True


def opening(head: bytes, room: int) -> tuple[int, int] | None:
    """Header size and whole size of the container that `head` starts, None if none that fits in `room`."""
    if len(head) < CONTAINER_HEADER or room < CONTAINER_HEADER:
        return None
    magic, version, header, size = _CONTAINER.unpack_from(head)
    if magic != MAGIC or version != 1 or header % 8 or not CONTAINER_HEADER <= header <= _LARGEST_HEADER:
        return None
    return (header, header + size) if size % 8 == 0 and header + size <= room else None


def certain(head: bytes, room: int) -> tuple[int, int] | None:
    """As `opening`, for a place where a container is not expected: the first image must be plausible too."""
    found = opening(head, room)
    if found is None or found[0] != CONTAINER_HEADER:
        return None
    return found if found[1] == CONTAINER_HEADER or _plausible(head[CONTAINER_HEADER:], found[1]) else None


def _plausible(head: bytes, room: int) -> bool:
    first = image(head, room - CONTAINER_HEADER)
    if first is None or first.header_size > _LARGEST_IMAGE_HEADER:
        return False
    return int.from_bytes(head[:2], "little") in _SEEN_KINDS


def image(head: bytes, room: int) -> Image | None:
    """The image that `head` starts, None if its sizes are impossible or do not fit in `room`."""
    if len(head) < IMAGE_HEADER:
        return None
    kind, _, header, padded, _, _, minor, major, arch, _, _, flags, _, _ = _IMAGE.unpack_from(head)
    if header < IMAGE_HEADER or header + padded > room:
        return None
    name, target, compression, version = _words(kind, arch, flags, major, minor)
    return Image(name, target, header, padded, flags, compression, version)


@lru_cache(maxsize=512)
def _words(kind: int, arch: int, flags: int, major: int, minor: int) -> tuple[Kind, str, str | None, str]:
    """Kind, architecture, compression and version in words; images that are alike share them."""
    suffix = next((word for bit, word in _SUFFIXES if flags & bit), "")
    compression = next((word for bit, word in _COMPRESSIONS if flags & bit), None)
    return _KINDS.get(kind, "other"), f"{arch}{suffix}", compression, f"{major}.{minor}"
