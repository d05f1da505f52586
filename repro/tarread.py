"""Reads tar archives that `tarball` wrote, and takes no others.

Every header is made again from what was read of it and held against the bytes. So nothing that another
program would read differently can be hidden in one: no second name, no owner, no device, no link's odd size.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from repro.tarball import BLOCK, RECORD, Content, Member, header

_LONGEST = 4096  # of a name: what Linux takes as a path
_KINDS = {b"0": "file", b"2": "link", b"5": "folder"}
_LONG = {b"L": "name", b"K": "link"}


class RefusedError(ValueError):
    """An archive that `tarball` would not have written; the text says what is wrong where."""


@dataclass(frozen=True)
class Entry:
    """A member as it is read. `data` gives a file's content once, before the next entry is asked for."""

    member: Member
    size: int
    data: IO[bytes]


def entries(source: IO[bytes]) -> Iterator[Entry]:
    """The members of an archive, read once, forward.

    Raises:
        RefusedError: a header, the order of names, padding or the end is not as `tarball.write` makes it.
    """
    tape = _Tape(source)
    last, folders = b"", {""}
    while (head := _head(tape)) is not None:
        member, size = head
        raw = member.name.encode("utf-8", "surrogateescape")
        if {"", ".", ".."} & set(member.name.split("/")):
            raise RefusedError(f"`{member.name}` leads out of the archive's own folder")
        if raw <= last:
            raise RefusedError(f"`{member.name}` stands twice, or out of order")
        if member.name.rpartition("/")[0] not in folders:
            raise RefusedError(f"`{member.name}` stands in a folder that is not in the archive")
        last = raw
        if member.is_folder:
            folders.add(member.name)
        part = _Part(tape, size, member.name)
        yield Entry(member, size, io.BufferedReader(part))
        part.finish()
    tape.end()


def _head(tape: "_Tape") -> tuple[Member, int] | None:
    blocks = [tape.block()]
    long: dict[str, bytes] = {}
    while (kind := blocks[-1][156:157]) in _LONG:
        what, size = _LONG[kind], _number(blocks[-1])
        if what in long or not 1 < size <= _LONGEST + 1:
            raise RefusedError("a name is longer than a file system takes")
        text = tape.take(size + -size % BLOCK)
        blocks += [text, tape.block()]
        long[what] = text[: size - 1]
    if not any(blocks[-1]):
        if long:
            raise RefusedError("the archive ends in the middle of a member")
        return None
    member, size = _member(blocks[-1], long)
    if header(member, size) != b"".join(blocks):
        raise RefusedError(f"the header of `{member.name}` is not as this tool writes it")
    return member, size


def _member(block: bytes, long: dict[str, bytes]) -> tuple[Member, int]:
    kind = _KINDS.get(block[156:157])
    if kind is None:
        raise RefusedError("a member is neither file, folder nor symbolic link")
    name = _text(long.get("name", block[:100].partition(b"\0")[0]))
    link = _text(long.get("link", block[157:257].partition(b"\0")[0]))
    size = _number(block)
    if kind == "folder":
        return Member(name.removesuffix("/")), size
    if kind == "link":
        return Member(name, link=link), size
    executable = block[100:107] == b"0000755"
    return Member(name, Content(size, io.BytesIO), executable=executable), size


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _number(block: bytes) -> int:
    field = block[124:136]
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.rstrip(b"\0")
    if not digits.isdigit() or digits.strip(b"01234567"):
        raise RefusedError("a size in a header is no number")
    return int(digits, 8)


class _Tape:
    """The bytes, counted."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._count = 0

    def take(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        pieces = []
        while size and (piece := self._source.read(size)):
            pieces.append(piece)
            size -= len(piece)
            self._count += len(piece)
        if size:
            raise RefusedError("the archive ends early")
        return b"".join(pieces)

    def some(self, size: int) -> bytes:
        """From one byte to `size` bytes."""
        piece = self._source.read(size)
        if not piece:
            raise RefusedError("the archive ends early")
        self._count += len(piece)
        return piece

    def block(self) -> bytes:
        """The next block."""
        return self.take(BLOCK)

    def end(self) -> None:
        """What follows the first empty block: one more, zeros up to a whole record, and nothing else."""
        rest = self.take(BLOCK)
        rest += self.take(-self._count % RECORD)
        if any(rest) or self._source.read(1):
            raise RefusedError("something stands after the end of the archive")


class _Part(io.RawIOBase):
    """One member's content on the tape."""

    def __init__(self, tape: _Tape, size: int, name: str) -> None:
        self._tape, self._left, self._name = tape, size, name
        self._padding = -size % BLOCK

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Fill the buffer as far as the content goes; 0 at its end."""
        piece = self._tape.some(min(len(buffer), self._left)) if self._left else b""
        buffer[: len(piece)] = piece
        self._left -= len(piece)
        return len(piece)

    def finish(self) -> None:
        """Go to the next header, whatever was read."""
        while self._left:
            self._left -= len(self._tape.some(min(self._left, 1 << 20)))
        if any(self._tape.take(self._padding)):
            raise RefusedError(f"something stands behind the content of `{self._name}`")
        self._padding = 0
