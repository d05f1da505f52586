"""The tar writer, byte for byte: as the library writes GNU tars, and as ever; the reader takes no others."""

import hashlib
import io
import random
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro import tarball, tarread
from repro.tarball import Content, Member

# The bytes of `fixed()` when this was written. Another digest means that every image gets another id.
GOLDEN = "4b65f6d7274ef9fd7ffb3f91039ec42d36058c588efffb8cd13d4e821f5cdfb4"

part = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=60)
name = st.lists(part.filter(lambda p: p not in (".", "..")), min_size=1, max_size=4).map("/".join)
content = st.binary(max_size=2000) | st.sampled_from([b"", b"x" * 511, b"x" * 512, b"x" * 513])
member = st.one_of(
    st.builds(Member, name, content, st.booleans()),
    st.builds(Member, name),
    st.builds(lambda n, link: Member(n, link=link), name, name | st.just("l" * 300)),
)


def written(members: list[Member]) -> bytes:
    out = io.BytesIO()
    tarball.write(out, members)
    return out.getvalue()


def apart(members: list[Member]) -> list[Member]:
    """Without those that would lie below a file or a link."""
    kept: dict[str, Member] = {}
    for one in members:
        above = ["/".join(one.name.split("/")[:end]) for end in range(1, one.name.count("/") + 1)]
        below = any(other.startswith(f"{one.name}/") for other in kept)
        if all(kept.get(p, Member(p)).is_folder for p in above) and (one.is_folder or not below):
            kept[one.name] = one
    return list(kept.values())


def by_library(members: list[Member]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as tar:
        for one in tarball.with_parents(members):
            info = tarfile.TarInfo(one.name)
            info.mtime, info.mode = tarball.EPOCH, one.mode
            if one.link:
                info.type, info.linkname = tarfile.SYMTYPE, one.link
            elif one.is_folder:
                info.type = tarfile.DIRTYPE
            data = one.source if isinstance(one.source, bytes) else b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


@given(st.lists(member, max_size=8).map(apart), st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_bytes_depend_on_content_alone(members: list[Member], order: random.Random) -> None:
    data = written(members)
    assert data == by_library(members)
    shuffled = list(members)
    order.shuffle(shuffled)
    assert written(shuffled) == data


@given(st.lists(member, max_size=8).map(apart))
@settings(max_examples=300, deadline=None)
def test_what_was_written_is_read(members: list[Member]) -> None:
    read = {e.member.name: (e.member, e.data.read()) for e in tarread.entries(io.BytesIO(written(members)))}
    wanted = tarball.with_parents(members)
    assert list(read) == [one.name for one in wanted]
    for one in wanted:
        found, data = read[one.name]
        assert (found.link, found.is_folder, found.mode) == (one.link, one.is_folder, one.mode)
        assert data == (one.source if isinstance(one.source, bytes) else b"")


def test_a_stream_is_the_same_archive() -> None:
    assert b"".join(tarball.pieces(fixed())) == written(fixed())


def test_a_reader_that_goes_away_is_no_error_and_a_lost_file_is_one(tmp_path: Path) -> None:
    with tarball.stream([Member("big", bytes(8 << 20))]) as source:
        source.read(10)
    lost = Member("lost", Content(10, lambda: (tmp_path / "none").open("rb")))
    with pytest.raises(FileNotFoundError), tarball.stream([lost]) as source:
        source.read()


def fixed() -> list[Member]:
    return [
        Member("bin/run", b"#!/bin/sh\n", executable=True),
        Member("deep/" + "n" * 98 + "/" + "m" * 120, b"long"),
        Member("empty"),
        Member("link", link="../" + "t" * 130),
        Member("naïve/ÿ", Content(3, lambda: io.BytesIO(b"abc"))),
        Member("odd\udcff", b"not UTF-8"),
    ]


def test_the_golden_archive() -> None:
    assert hashlib.sha256(written(fixed())).hexdigest() == GOLDEN


def test_a_large_size_is_written_as_gnu_writes_it() -> None:
    head = tarball.header(Member("big", b""), 9 << 30)
    assert tarfile.TarInfo.frombuf(head, "utf-8", "strict").size == 9 << 30


def read_back(data: bytes) -> list[Member]:
    return [
        replace(e.member, source=None if e.member.is_folder or e.member.link else e.data.read())
        for e in entries_of(data)
    ]


def entries_of(data: bytes) -> Iterator[tarread.Entry]:
    return tarread.entries(io.BytesIO(data))


def test_every_other_archive_is_refused_or_is_one_of_ours() -> None:
    """A flipped bit that passes lies in a content or in a long name: it is the archive of another content."""
    data, passed = written(fixed()), 0
    places = random.Random(5)  # noqa: S311 - the same each time
    for _ in range(3000):
        broken = bytearray(data)
        broken[places.randrange(len(broken))] ^= 1 << places.randrange(8)
        try:
            found = read_back(bytes(broken))
        except tarread.RefusedError:
            continue
        passed += 1
        assert written(found) == broken
    assert 0 < passed < 300


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda d: d[:-512], "ends early"),
        (lambda d: d + b"x", "after the end"),
        (lambda d: d[:1024] + d, "twice"),
        (lambda d: b"", "ends early"),
    ],
)
def test_what_is_wrong_is_said(change, word: str) -> None:
    data = written([Member("a", b"x"), Member("b", b"y")])
    with pytest.raises(tarread.RefusedError, match=word):
        read_back(change(data))


@pytest.mark.parametrize("name", ["../out", "/etc/x", "a/../b", "a//b", "."])
def test_names_that_lead_out_are_refused(name: str) -> None:
    head = tarball.header(Member(name, b""), 0)
    with pytest.raises(tarread.RefusedError):
        list(tarread.entries(io.BytesIO(head + bytes(20 * 512 - len(head)))))
