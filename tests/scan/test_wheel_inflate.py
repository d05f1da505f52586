"""A member of a wheel: forward once, then at any place for little work."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.scan.package import inflate
from repro.scan.package.inflate import PIECE, Member

from .wheels import noise

DATA = noise(3 * PIECE + 1234) + bytes(5 * PIECE) + noise(4 * PIECE + 5)


@pytest.fixture(params=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"], scope="module")
def member(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    path = tmp_path_factory.mktemp("inflate") / "a.zip"
    with zipfile.ZipFile(path, "w", request.param) as archive:
        archive.writestr("first", b"x" * 1000)
        archive.writestr("lib.so", DATA)
        (_, info) = archive.infolist()
    fd = os.open(path, os.O_RDONLY)
    yield Member(fd, info, path.stat().st_size)
    os.close(fd)


def test_chunks_are_the_content(member: Member) -> None:
    chunks = list(member.chunks())
    assert b"".join(chunks) == DATA
    assert {len(chunk) for chunk in chunks[:-1]} == {PIECE}
    assert (member.size, member.name) == (len(DATA), "lib.so")


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(DATA) + 10), st.integers(0, 3 * PIECE))
def test_any_place_can_be_read(member: Member, offset: int, length: int) -> None:
    assert member.read(offset, length) == DATA[offset : offset + length]


def test_the_end_costs_little_after_the_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "_SPACING", 4 * PIECE)
    monkeypatch.setattr(inflate, "_COPIES", 8)
    data = noise(PIECE) * 101
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("lib.so", data)
        (info,) = archive.infolist()
    fd = os.open(path, os.O_RDONLY)
    try:
        member = Member(fd, info, path.stat().st_size)
        assert sum(map(len, member.chunks())) == len(data)
        taken = counted(monkeypatch)
        assert member.read(len(data) - 10, 20) == data[-10:]
        assert sum(taken) <= 32 * PIECE  # the copies have become fewer, and the distance between them greater
        taken.clear()
        assert member.read(len(data) - PIECE, PIECE) == data[-PIECE:]
        assert taken == []  # read a moment ago
        assert len(member._copies) <= 8
    finally:
        os.close(fd)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of what is inflated from now on."""
    sizes: list[int] = []
    honest = inflate._Deflated.take

    def take(self: inflate._Deflated, length: int) -> bytes:
        data = honest(self, length)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(inflate._Deflated, "take", take)
    return sizes
