"""Tar archives that come out byte for byte the same for the same content; `tarread` reads them back.

Sorted members, owner 0 without names, modes folded to 0755/0644, one fixed time. 1980 and not 1970, because
the zip format cannot hold earlier dates and a program in the image may want to zip a file. The headers are
written here, in GNU's form: the library's differ between versions of Python for long and foreign names.
"""

import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

EPOCH = 315532800  # 1980-01-01T00:00:00Z
BLOCK = 512
RECORD = 20 * BLOCK
_PIECE = 1 << 20
_NAME = 100
_OCTAL = 8**11
_FILE, _LINK, _FOLDER, _LONG_NAME, _LONG_LINK = b"0", b"2", b"5", b"L", b"K"


@dataclass(frozen=True)
class Content:
    """A file's content that lies in no file of its own: its size in bytes, and how to open it."""

    size: int
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True)
class Member:
    """One entry. `source` is bytes, a path to read, content, or None for a folder; `link` makes a symlink."""

    name: str
    source: bytes | Path | Content | None = None
    executable: bool = False
    link: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether it is neither a file nor a link."""
        return self.source is None and not self.link

    @property
    def mode(self) -> int:
        """Permission bits; a link has all of them, as Linux shows it."""
        if self.link:
            return 0o777
        return 0o755 if self.executable or self.is_folder else 0o644

    def content(self) -> Content:
        """What a file holds."""
        if isinstance(self.source, Content):
            return self.source
        if isinstance(self.source, Path):
            path = self.source
            return Content(path.stat().st_size, lambda: path.open("rb"))
        data = self.source or b""
        return Content(len(data), lambda: io.BytesIO(data))


# Told of each member as it is written, with the SHA-256 of a file's content (empty for folders and links).
Told = Callable[[Member, str], object]


def write(out: IO[bytes], members: Iterable[Member], told: Told | None = None) -> None:
    """Write `members`, sorted by name, with all their parent folders, to `out`, which may be a pipe.

    Raises:
        OSError: a file has another size than when it was looked at; `out` then holds no whole archive.
    """
    written = 0
    for member in with_parents(members):
        written += _add(out, member, told)
    written += out.write(bytes(2 * BLOCK))
    out.write(bytes(-written % RECORD))


def with_parents(members: Iterable[Member]) -> list[Member]:
    """Sorted by the bytes of their names, each once (the last one counts), with the folders above them."""
    by_name = {m.name: m for m in members}
    for name in list(by_name):
        for parent in _parents(name):
            by_name.setdefault(parent, Member(parent))
    return [by_name[name] for name in sorted(by_name, key=_raw)]


def _parents(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts)) if parts[i]]


def _raw(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _add(out: IO[bytes], member: Member, told: Told | None) -> int:
    if member.is_folder or member.link:
        head = header(member, 0)
        out.write(head)
        if told:
            told(member, "")
        return len(head)
    content = member.content()
    head = header(member, content.size)
    out.write(head)
    digest = hashlib.sha256() if told else None
    copied = 0
    with content.open() as source:
        while piece := source.read(_PIECE):
            copied += len(piece)
            if copied > content.size:
                break
            out.write(piece)
            if digest:
                digest.update(piece)
    if copied != content.size:
        raise OSError(f"`{member.name}` changed its size while it was read: {content.size} bytes before")
    out.write(bytes(-copied % BLOCK))
    if told and digest:
        told(member, digest.hexdigest())
    return len(head) + copied + -copied % BLOCK


def header(member: Member, size: int) -> bytes:
    """The blocks that stand before a member's `size` bytes of content."""
    name = _raw(member.name) + (b"/" if member.is_folder else b"")
    link = _raw(member.link)
    kind = _LINK if link else _FOLDER if member.is_folder else _FILE
    long = b"".join(
        _block(b"././@LongLink", mark, 0, len(text) + 1, mtime=0) + _padded(text + b"\0")
        for mark, text in ((_LONG_LINK, link), (_LONG_NAME, name))
        if len(text) > _NAME
    )
    return long + _block(name, kind, member.mode, size, link=link)


def _block(name: bytes, kind: bytes, mode: int, size: int, *, link: bytes = b"", mtime: int = EPOCH) -> bytes:
    def text(value: bytes, width: int) -> bytes:
        return value[:width].ljust(width, b"\0")

    # More than eleven octal digits hold is written in base 256, as GNU tar does.
    number = b"%011o\0" % size if size < _OCTAL else b"\x80" + size.to_bytes(11, "big")
    owner = b"%07o\0" % 0
    head = text(name, _NAME) + b"%07o\0" % mode + owner + owner + number + b"%011o\0" % mtime
    tail = kind + text(link, _NAME) + b"ustar  \0"
    block = text(head + b" " * 8 + tail, BLOCK)
    return head + b"%06o\0 " % sum(block) + text(tail, BLOCK - len(head) - 8)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def folder_members(folder: Path, prefix: str, *, skip: tuple[str, ...] = ("__pycache__",)) -> list[Member]:
    """Members for every file below `folder`, named `prefix/...`; links stay links."""
    found = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if any(part in skip for part in relative.parts):
            continue
        name = f"{prefix}/{relative.as_posix()}" if prefix else relative.as_posix()
        if path.is_symlink():
            found.append(Member(name, link=str(path.readlink())))
        elif path.is_file():
            found.append(Member(name, path, executable=bool(path.stat().st_mode & 0o100)))
        elif path.is_dir():
            found.append(Member(name))
    return found


@contextmanager
def stream(members: Iterable[Member]) -> Iterator[IO[bytes]]:
    """The archive of `members` as a stream, written by a thread while it is read.

    The thread's error is raised at the end, since the reader sees only an archive that stops short.
    """
    reader, writer = os.pipe()
    problems: list[OSError] = []

    def run() -> None:
        try:
            with os.fdopen(writer, "wb", buffering=_PIECE) as out:
                write(out, members)
        except BrokenPipeError:
            return  # the reader has gone, with a better reason
        except OSError as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with os.fdopen(reader, "rb", buffering=0) as source:
            yield source
    finally:
        thread.join()
    if problems:
        raise problems[0]


def pieces(members: Iterable[Member]) -> Iterator[bytes]:
    """The same in pieces, for whoever takes an iterator."""
    with stream(members) as source:
        while piece := source.read(_PIECE):
            yield piece
