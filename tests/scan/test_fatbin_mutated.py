"""Headers changed at random: nothing but the reader's own error, and the stream agrees with the file."""

import struct
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.scan.fatbin.container import Code
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.walk import walk
from repro.scan.reader import MemoryBytes, NoBytes, Unreadable

from .fatbins import LTO, PTX, container, elf, image, library, stream

_FILES = [
    library(
        container(image(PTX, 80, header=80, flags=0x8011), image(arch=80), image(arch=86)),
        container(image(arch=90, flags=0x100011), image(LTO, 90)),
        container(),
        versions=(1, 2, 2),
        reloc=container(image(arch=80), image(PTX, 90, header=96)),
        data=b"abc" + container(image(arch=100)) + bytes(5) + container(image(arch=120)),
    ),
    library(container(image()) + bytes(24), container(image(arch=70)), many=True),
    container(image(PTX, 80), image(arch=80)) + container(image(arch=86)),
    elf(machine=190),
]
_EDGES = (0, 1, 2, 4, 8, 9, 15, 16, 24, 63, 64, 65, 72, 80, 96, 160, 4096, 0x7FFF, 0xFFFF)
_EDGES += (1 << 20, (1 << 31) - 1, 1 << 31, 0xBA55ED50, 0x466243B1, (1 << 32) - 8, (1 << 32) - 1)
_EDGES += ((1 << 63) - 8, 1 << 63, (1 << 64) - 64, (1 << 64) - 8, (1 << 64) - 1)

_values = st.sampled_from(_EDGES) | st.integers(0, 400) | st.integers(0, (1 << 64) - 1)
_change = st.tuples(st.integers(0, 1 << 16), st.sampled_from("BHIQ"), _values)


def _mutated(data: bytes, changes: list[tuple[int, str, int]], cut: int) -> bytes:
    changed = bytearray(data)
    for place, width, value in changes:
        size = struct.calcsize(width)
        # Fields of headers stand at multiples of their size; nearly all of these files is headers.
        offset = place % (len(data) // size) * size
        struct.pack_into("<" + width, changed, offset, value & ((1 << 8 * size) - 1))
    return bytes(changed[: len(changed) - cut])


def _unless_unreadable(read: Callable[[], Code]) -> Code | None:
    try:
        return read()
    except Unreadable:
        return None


@settings(
    max_examples=10_000,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    data=st.builds(
        _mutated,
        st.sampled_from(_FILES),
        st.lists(_change, min_size=1, max_size=4),
        st.sampled_from((0, 0, 0, 1, 65)),
    ),
    chunk=st.sampled_from((1, 63, 64, 65, 300, 4096)),
    deep=st.booleans(),
    again=st.booleans(),
)
def test_mutated_headers(data: bytes, chunk: int, deep: bool, again: bool) -> None:
    reader = MemoryBytes(data) if again else NoBytes(len(data))
    code = _unless_unreadable(lambda: walk(MemoryBytes(data), deep))
    streamed = _unless_unreadable(lambda: stream(data, chunk, reader, deep=deep))
    for facts in filter(None, (code, streamed)):
        assert sum(group.count for group in groups(facts)) == len(facts.containers)
        assert all(c.offset >= 0 and c.offset + c.size <= len(data) for c in facts.containers)
    if code is not None and again:
        assert streamed == code
