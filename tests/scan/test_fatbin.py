"""Fixtures made by nvcc 13.0 hold, container by container, from the file and from a stream alike."""

import struct
import zipfile
from pathlib import Path

import pytest

from repro.model.binary import BinaryFacts, ContainerGroup, GpuCode
from repro.scan.elf.layout import sections
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.search import Search
from repro.scan.fatbin.walk import walk
from repro.scan.reader import FileBytes, MemoryBytes, NoBytes, Unreadable

from .fatbins import (
    EXPECTED,
    FIXTURES,
    LTO,
    PTX,
    ZipBytes,
    container,
    elf,
    image,
    library,
    section,
    stream,
    told,
)

CHUNKS = (1, 63, 64, 65, 4096, 1 << 20)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_file_says_what_is_expected(name: str) -> None:
    with FileBytes(FIXTURES / name) as reader:
        code = walk(reader)
    assert told(code) == EXPECTED[name]["containers"]
    assert (code.gaps, code.problems, code.joined) == ((), (), True)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_member_of_an_archive_says_the_same(name: str, method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w", method) as archive:
        archive.write(FIXTURES / name, name)
    with FileBytes(FIXTURES / name) as reader:
        at_hand = walk(reader)
    with zipfile.ZipFile(tmp_path / "a.whl") as archive:
        for size in CHUNKS:
            search = Search(archive.getinfo(name).file_size)
            with archive.open(name) as member:
                while chunk := member.read(size):
                    search.feed(chunk)
            code = search.finish(ZipBytes(archive, name))
            assert told(code) == EXPECTED[name]["containers"], f"chunks of {size}"
            assert code == at_hand


@pytest.mark.parametrize("name", EXPECTED)
def test_counts_by_section_are_those_of_the_vendors_tool(name: str) -> None:
    with FileBytes(FIXTURES / name) as reader:
        facts = BinaryFacts(path=name, bytes=reader.size, groups=groups(walk(reader)))
    assert facts.counts("sass") == EXPECTED[name]["sass"]
    assert facts.counts("ptx") == EXPECTED[name]["ptx"]
    for part, kinds in EXPECTED[name].get("by_section", {}).items():
        assert facts.counts("ptx", part) == kinds.get("ptx", {})
        assert facts.counts("sass", part) == kinds.get("sass", {})


def test_magic_numbers_in_data_are_no_code() -> None:
    data = (FIXTURES / "decoy.so").read_bytes()
    for deep in (False, True):
        assert walk(MemoryBytes(data), deep).containers == ()
        assert all(stream(data, size, deep=deep).containers == () for size in CHUNKS)


def test_groups_count_containers_that_are_alike() -> None:
    one, other = container(image(arch=80), image(PTX, 80, version=(8, 7))), container(image(arch=90))
    found = groups(walk(MemoryBytes(library(one, other, one, one, versions=(1, 1, 1, 0)))))
    sass, ptx = GpuCode(kind="sass", arch="80"), GpuCode(kind="ptx", arch="80", isa="8.7")
    assert found == [
        ContainerGroup(section="exec", judged=True, wrapper=1, images=[sass, ptx], count=2),
        ContainerGroup(
            section="exec", judged=True, wrapper=1, images=[GpuCode(kind="sass", arch="90")], count=1
        ),
        ContainerGroup(section="exec", judged=False, wrapper=0, images=[sass, ptx], count=1),
    ]


@pytest.mark.parametrize(
    ("versions", "reloc", "judged"),
    [
        ((1, 1), b"", [True, True]),
        ((1, 0), b"", [True, False]),
        ((2, 1), b"", [False, True]),
        ((2, 1), container(image(PTX, 80)), [True, True, False]),
        ((0, 0), b"", [False, False]),
    ],
    ids=["both", "one is not registered", "device link", "device link with its parts", "none is registered"],
)
def test_what_is_judged_is_what_the_driver_can_be_asked_for(
    versions: tuple[int, ...], reloc: bytes, judged: list[bool]
) -> None:
    data = library(container(image()), container(image(arch=90)), versions=versions, reloc=reloc)
    code = walk(MemoryBytes(data))
    assert [c.judged for c in code.containers] == judged
    assert code.joined
    assert stream(data, 4096) == code


def test_an_address_that_stands_in_the_wrapper_needs_no_relocation() -> None:
    data = bytearray(library(container(image()), versions=(2,)))
    (segment,) = sections(MemoryBytes(bytes(data))).named(".nvFatBinSegment")
    (code,) = sections(MemoryBytes(bytes(data))).named(".nv_fatbin")
    data[64:72] = bytes(8)  # the relocation is for another place now
    data[segment.offset + 8 : segment.offset + 16] = struct.pack("<Q", code.addr)
    assert [c.wrapper for c in walk(MemoryBytes(bytes(data))).containers] == [2]


@pytest.mark.parametrize("arch", [30, 35, 37, 50, 52, 60, 61, 70])
def test_architectures_that_the_compiler_of_today_has_dropped(arch: int) -> None:
    data = bytearray((FIXTURES / "two_tu.so").read_bytes())
    first = EXPECTED["two_tu.so"]["containers"][0]["file_offset"] + 16
    data[first + 28 : first + 32] = struct.pack("<I", arch)
    code = walk(MemoryBytes(bytes(data)))
    assert [i.arch for i in code.containers[0].images] == [str(arch), "86", "86"]
    assert stream(bytes(data), 65) == code


@pytest.mark.parametrize(
    ("flags", "compression"), [(0x11, None), (0x1011, "old"), (0x2011, "lz4"), (0x8011, "zstd")]
)
def test_the_payload_is_never_looked_at(flags: int, compression: str | None) -> None:
    rubbish = container(image(payload=b"\x50\xed\x55\xba\x01\0\x10\0" * 40, flags=flags))
    data = library(rubbish, container(image(arch=90)))
    code = walk(MemoryBytes(data))
    assert [[(i.arch, i.compression) for i in c.images] for c in code.containers] == [
        [("80", compression)],
        [("90", None)],
    ]
    assert all(stream(data, size) == code for size in (1, 64, 4096))


def test_intermediate_code_is_of_its_own_kind() -> None:
    code = walk(MemoryBytes(library(container(image(LTO, 90, flags=0x10011)))))
    assert [(i.kind, i.arch) for c in code.containers for i in c.images] == [("lto", "90")]


def test_code_in_data_sections_is_found_at_any_offset() -> None:
    hidden = (
        b"\x50\xed\x55\xba" * 5 + b"abc" + container(image(arch=100)) + bytes(5) + container(image(arch=120))
    )
    data = library(container(image()), data=hidden)
    assert [c.section for c in walk(MemoryBytes(data)).containers] == ["exec"]
    deep = walk(MemoryBytes(data), deep=True)
    assert [(c.section, c.judged, c.images[0].arch) for c in deep.containers] == [
        ("exec", True, "80"),
        ("data", False, "100"),
        ("data", False, "120"),
    ]
    assert all(stream(data, size, deep=True) == deep for size in CHUNKS)


@pytest.mark.parametrize(
    ("abi", "flags", "arch"), [(7, 0x500550, "80"), (8, 0x6005A04, "90"), (8, 0x6006402, "100")]
)
def test_bare_machine_code_names_its_architecture(abi: int, flags: int, arch: str) -> None:
    data = bytearray(elf(machine=190))
    data[8] = abi
    data[48:52] = struct.pack("<I", flags)
    code = walk(MemoryBytes(bytes(data)))
    assert code.form == "cubin"
    assert [(i.kind, i.arch) for c in code.containers for i in c.images] == [("sass", arch)]
    assert groups(code)[0].judged
    assert stream(bytes(data), 63) == code


def test_bare_machine_code_of_an_unknown_shape_is_not_guessed() -> None:
    data = bytearray(elf(machine=190))
    data[8] = 9
    with pytest.raises(Unreadable, match="ABI version 9; the place of its architecture is not known"):
        walk(MemoryBytes(bytes(data)))


@pytest.mark.parametrize("many", [False, True], ids=["count in the header", "count in entry 0"])
def test_the_section_table_of_a_file_with_very_many_sections(many: bool) -> None:
    data = library(container(image()), many=many)
    code = walk(MemoryBytes(data))
    assert [c.judged for c in code.containers] == [True]
    assert stream(data, 64) == code


def test_a_stream_that_cannot_be_read_again_is_judged_by_section() -> None:
    far = section(".debug_info", bytes(6 << 20), flags=0)
    near = [section(".nv_fatbin", container(image())), section(".nvFatBinSegment", bytes(24))]
    data = elf(*near, far)
    code = stream(data, 1 << 16, NoBytes(len(data)))
    assert [(c.section, c.judged, c.wrapper) for c in code.containers] == [("exec", True, 0)]
    assert not code.joined
    assert code.problems[0].startswith("registrations unknown, code is judged by its section")
    assert stream(data, 1 << 16).joined


def test_a_stream_whose_sections_cannot_be_told_counts_its_code_as_loadable() -> None:
    data = bytearray(library(container(image())))
    data[40:48] = struct.pack("<Q", len(data) + 8)
    code = stream(bytes(data), 64, NoBytes(len(data)))
    assert [(c.section, c.judged) for c in code.containers] == [("exec", True)]
    assert not code.joined
    assert code.problems[0].startswith("sections unknown, all GPU code is taken for loadable: cut at byte")
