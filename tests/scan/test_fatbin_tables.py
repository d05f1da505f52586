"""Files whose headers and section tables are strange, cut, or not ours: a sentence each."""

import os
import struct
from pathlib import Path

import pytest

from repro.scan.fatbin.walk import walk
from repro.scan.reader import FileBytes, MemoryBytes, Unreadable

from .fatbins import EXEC, NOBITS, archs, both, container, elf, image, library, section, stream


def test_a_section_without_bytes_in_the_file() -> None:
    code = both(elf(section(".nv_fatbin", container(image()), NOBITS), section(".text", b"\x90", flags=EXEC)))
    assert archs(code) == []
    assert code.problems == ()


def test_a_section_past_the_end_of_the_file() -> None:
    data = bytearray(elf(section(".nv_fatbin", container(image()))))
    (table,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<Q", data, table + 64 + 32, 1 << 40)
    code = both(bytes(data))
    assert archs(code) == []
    assert code.problems[0].startswith(f"cut at byte {len(data)}: .nv_fatbin should reach to byte")


def test_sections_that_overlap_are_read_once() -> None:
    data = bytearray(
        elf(section(".nv_fatbin", container(image())), section(".nv_fatbin", container(image())))
    )
    (table,) = struct.unpack_from("<Q", data, 40)
    data[table + 128 : table + 192] = data[table + 64 : table + 128]
    code = both(bytes(data))
    assert archs(code) == [["80"]]
    assert "overlaps .nv_fatbin" in code.problems[0]


def test_a_decoy_that_swallows_the_real_code_is_seen_through() -> None:
    code_section = section(".nv_fatbin", container(image()), flags=2)
    decoy = container(image(payload=b"", padded=8 * 30), size=64 + 8 * 30)
    data = elf(section(".rodata", decoy), code_section, section(".data", bytes(400)))
    code = both(data)
    assert archs(code) == [["80"]]
    assert stream(data, 64, deep=True) == walk(MemoryBytes(data), deep=True)


def _changed(offset: int, value: bytes) -> bytes:
    data = bytearray(library(container(image())))
    data[offset : offset + len(value)] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "pattern"),
    [
        (b"", "is empty"),
        (b"\x7fEL", "no ELF file"),
        (b"PK\x03\x04" + bytes(60), "no ELF file: it starts with 50 4b 03 04"),
        (b"\x7fELF\x02\x01", "cut at byte 6"),
        (_changed(4, b"\x01"), "32-bit ELF"),
        (_changed(5, b"\x02"), "big-endian"),
    ],
    ids=["empty", "three bytes", "zip", "six bytes", "32-bit", "big-endian"],
)
def test_a_file_that_is_none_of_ours(data: bytes, pattern: str) -> None:
    with pytest.raises(Unreadable, match=pattern):
        walk(MemoryBytes(data))
    with pytest.raises(Unreadable, match=pattern):
        stream(data, 64)


@pytest.mark.parametrize(
    ("offset", "value", "pattern"),
    [
        (40, bytes(8), "has no section table"),
        (40, b"\xff" * 8, "cut at byte"),
        (58, b"\x28\0", "section entries of 40 bytes"),
        (60, b"\0\0", "says it has 0 sections"),
        (62, b"\x50\0", "with names in section 80"),
    ],
)
def test_a_section_table_that_cannot_be(offset: int, value: bytes, pattern: str) -> None:
    data = _changed(offset, value)
    with pytest.raises(Unreadable, match=pattern):
        walk(MemoryBytes(data))
    code = stream(data, 64)
    assert archs(code) == [["80"]]
    assert not code.joined
    assert pattern in code.problems[0]


def test_registrations_of_an_unknown_machine_are_not_guessed() -> None:
    code = both(library(container(image()), machine=243))
    assert [(c.judged, c.wrapper) for c in code.containers] == [(True, 0)]
    assert not code.joined
    assert "machine 243" in code.problems[0]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="cannot be opened: no such file"):
        FileBytes(tmp_path / "none")
    with pytest.raises(Unreadable, match="no regular file"):
        FileBytes(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="no regular file"):
        FileBytes(tmp_path / "pipe")


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.so"
    path.write_bytes(library(container(image())))
    with FileBytes(path) as reader:
        os.truncate(path, 100)
        with pytest.raises(Unreadable, match="the section table at byte"):
            walk(reader)
