"""Cut and hostile containers: a sentence each, never a crash, and the same from file and stream."""

import re
import struct

import pytest

from repro.scan.fatbin.container import Code
from repro.scan.fatbin.search import Search
from repro.scan.fatbin.steps import Steps
from repro.scan.fatbin.walk import walk
from repro.scan.reader import MemoryBytes, Unreadable

from .fatbins import FIXTURES, PTX, archs, both, container, elf, image, library, section, stream


def either(data: bytes) -> Code | str:
    """What the walk says, or why it says nothing."""
    try:
        return walk(MemoryBytes(data))
    except Unreadable as error:
        return str(error)


@pytest.mark.parametrize("name", ["plain.fatbin", "ptx_only.so"])
def test_a_file_cut_at_any_byte(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    for length in (*range(300), *range(300, len(data), 97), *range(len(data) - 700, len(data))):
        cut = data[:length]
        said = either(cut)
        assert isinstance(said, Code) or re.search("cut at byte|is empty|no ELF file", said)
        if isinstance(said, Code):
            assert said.problems
            assert archs(said) == []
            assert stream(cut, 64) == said


def test_a_container_cut_at_any_byte_is_told() -> None:
    whole = container(image(PTX, 70), image(arch=80, payload=bytes(8)))
    last = container(image(arch=90))
    for length in range(1, len(whole)):
        code = both(library(whole[:length] + bytes(-length % 8) + last))
        assert code.problems or length >= len(whole) - 7  # as good as whole when only zeros are missing


def test_a_stream_that_ends_early_or_late() -> None:
    data = (FIXTURES / "two_tu.so").read_bytes()
    with pytest.raises(Unreadable, match="cut at byte 31112 of 40000"):
        stream_of(data, 40000)
    with pytest.raises(Unreadable, match="31112 of 100"):
        stream_of(data, 100)


def stream_of(data: bytes, size: int) -> Code:
    search = Search(size)
    search.feed(data)
    return search.finish(MemoryBytes(data))


@pytest.mark.parametrize("size", [1 << 20, 1 << 63, (1 << 64) - 8, 12])
def test_a_container_that_says_it_is_larger_than_its_section(size: int) -> None:
    code = both(library(container(image(), size=size), container(image(arch=90))))
    assert archs(code) == [["90"]]
    assert "the container at byte" in code.problems[0]
    assert "does not fit in .nv_fatbin, or its header is broken" in code.problems[0]
    assert code.gaps[0][1] == 16 + 64 + 16


@pytest.mark.parametrize("header", [0, 63, 1 << 31], ids=["0", "63", "2^31"])
def test_an_image_header_of_an_impossible_size(header: int) -> None:
    broken = bytearray(container(image(arch=80), image(arch=86)))
    struct.pack_into("<I", broken, 16 + 80 + 4, header)
    code = both(library(bytes(broken), container(image(arch=90))))
    assert archs(code) == [["80"], ["90"]]
    assert "has a broken image at byte" in code.problems[0]


@pytest.mark.parametrize("padded", [1 << 63, (1 << 64) - 64, (1 << 64) - 1])
def test_a_payload_of_an_impossible_size(padded: int) -> None:
    code = both(library(container(image(padded=padded)), container(image(arch=90))))
    assert archs(code) == [[], ["90"]]
    assert not code.containers[0].judged
    assert "has a broken image at byte" in code.problems[0]


def test_an_unknown_kind_is_counted_as_other() -> None:
    code = both(library(container(image(9, 80), image(arch=86)), container(image(4, 10))))
    assert [[i.kind for i in c.images] for c in code.containers] == [["other", "sass"], ["other"]]
    assert code.problems == ()


@pytest.mark.parametrize("zeros", [8, 24])
def test_containers_with_zeros_between_them(zeros: int) -> None:
    code = both(library(container(image()) + bytes(zeros) + container(image(arch=90))))
    assert archs(code) == [["80"], ["90"]]
    assert [length for _, length in code.gaps] == [zeros]
    assert code.problems == ()


def test_other_bytes_between_containers_are_told() -> None:
    code = both(library(container(image()) + b"\xff" * 16 + container(image(arch=90))))
    assert archs(code) == [["80"], ["90"]]
    assert "16 bytes at byte" in code.problems[0]


def test_containers_are_looked_for_on_boundaries_of_eight_bytes_alone() -> None:
    code = both(library(container(image()) + bytes(4) + container(image(arch=90)) + bytes(4)))
    assert archs(code) == [["80"]]


def test_more_containers_than_a_file_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repro.scan.fatbin.steps.MOST_ENTRIES", 50)
    monkeypatch.setattr("repro.scan.fatbin.finder.MOST_ENTRIES", 50)
    data = library(container() * 400)
    for code in (walk(MemoryBytes(data)), stream(data, 64)):
        assert len(code.containers) == 50
        assert any("more containers and images than a file may have" in problem for problem in code.problems)


def test_more_sections_of_one_name_than_anybody_makes() -> None:
    sections = [section(".nv_fatbin", container(image(arch=50 + number % 40))) for number in range(3000)]
    code = both(elf(*sections))
    assert len(code.containers) == 3000
    wraps = [section(".nvFatBinSegment", struct.pack("<IIQQ", 0x466243B1, 1, 0, 0))] * 17
    code = both(elf(section(".nv_fatbin", container(image())), *wraps))
    assert "has 17 sections called .nvFatBinSegment" in code.problems[0]
    assert not code.joined


def test_images_of_one_container_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repro.scan.fatbin.steps.MOST_ENTRIES", 50)
    code = walk(MemoryBytes(library(container(*[image(payload=b"")] * 400))))
    assert len(code.containers[0].images) <= 50


def test_sentences_are_bounded() -> None:
    code = walk(MemoryBytes(library(container(image(), size=1 << 40) * 100)))
    assert len(code.problems) == 21
    assert code.problems[-1].startswith("and ")


def test_a_reader_that_fails_where_gaps_are_told() -> None:
    class Failing(MemoryBytes):
        def read(self, offset: int, length: int) -> bytes:
            raise Unreadable("damaged")

    steps = Steps(Failing(b""))
    with pytest.raises(Unreadable, match="damaged"):
        steps.section(".nv_fatbin", "exec", 0, 800)
