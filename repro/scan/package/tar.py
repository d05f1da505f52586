"""The file system of an image as the engine exports it: one tar stream, nothing unpacked on disk."""

import re
import tarfile
from collections.abc import Iterator
from typing import IO, cast

from repro.errors import ReproError
from repro.events import Progress, Sink, silent
from repro.model.binary import ImageFacts
from repro.scan.elf.layout import HEADER
from repro.scan.package.candidates import may_be_compiled
from repro.scan.package.compiled import from_stream
from repro.scan.package.installed import LARGEST_TEXT, Installed, is_aside
from repro.scan.package.offers import Offers
from repro.scan.package.passing import PIECE, Passing
from repro.scan.package.torchsaid import ArchList

_BLOCK = 512
_STEP = 64 << 20  # bytes between two reports of progress

_PACKAGES = re.compile(r"(?:^|/)(?:site|dist)-packages/")
_EXTENSION = re.compile(r"\.cpython-\d+[^/]*\.so$")
# Python's own modules, and the store that conda installs from.
_NOT_IMPORTED = re.compile(r"(?:^|/)(?:lib-dynload|pkgs/[^/]+/lib/python[^/]*)/")


def scan_tar(stream: IO[bytes], sink: Sink = silent, what: str = "image") -> ImageFacts:
    """What is installed in the file system that `stream` brings, read once from front to back.

    Args:
        stream: as `docker export` writes it, uncompressed.
        sink: is told the bytes that came.
        what: name for the reports of progress.

    Raises:
        image-stream-broken: the stream ends early or is no tar archive.
    """
    counted = _Counted(stream, sink, what)
    found, around = Installed(), Offers()
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", counted), mode="r|", bufsize=PIECE) as tar:
            while (info := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined]  # else it remembers every file of the image
                _entry(tar, info, found, around)
        counted.drain()
    except (tarfile.TarError, EOFError) as problem:
        raise _broken(what, counted.count, str(problem)) from problem
    if counted.last.strip(b"\0") or counted.count < _BLOCK:
        raise _broken(what, counted.count, "the blocks that end an archive are missing")
    return ImageFacts(
        wheels=found.wheels(),
        libraries=sorted(around.libraries),
        glibc=around.glibc,
        os_release=around.os_release,
        python=around.python(found.site()),
    )


def _entry(tar: tarfile.TarFile, info: tarfile.TarInfo, found: Installed, around: Offers) -> None:
    path = _plain(info.name)
    around.name(path)
    if info.islnk():
        found.link(path, _plain(info.linkname))
    content = tar.extractfile(info) if info.isreg() else None
    if content is None:
        return
    if found.wants(path):
        found.text(path, content.read(LARGEST_TEXT))
    elif around.wants(path):
        around.content(path, content.read(LARGEST_TEXT))
    elif _is_candidate(path):
        _candidate(path, content, info.size, found)


def _plain(name: str) -> str:
    return name.removeprefix("./").lstrip("/")


def _is_candidate(path: str) -> bool:
    if _NOT_IMPORTED.search(path):
        return False
    packaged = _PACKAGES.search(path) or is_aside(path)
    return may_be_compiled(path) if packaged else bool(_EXTENSION.search(path))


def _candidate(path: str, content: IO[bytes], size: int, found: Installed) -> None:
    first = content.read(PIECE)
    kept = Passing(size)
    watcher = found.arch_list(path)
    compiled = from_stream(path, first[:HEADER], _chunks(first, content, kept, watcher), kept)
    if compiled is not None:
        found.add(compiled)


def _chunks(chunk: bytes, content: IO[bytes], kept: Passing, watcher: ArchList | None) -> Iterator[bytes]:
    while chunk:
        kept.feed(chunk)
        if watcher is not None:
            watcher.feed(chunk)
        yield chunk
        chunk = content.read(PIECE)


class _Counted:
    """The stream, with its length so far and its last bytes."""

    def __init__(self, stream: IO[bytes], sink: Sink, what: str) -> None:
        self._stream, self._sink, self._what = stream, sink, what
        self.count = self._said = 0
        self.last = b""

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.count += len(data)
        self.last = (self.last + data[-_BLOCK:])[-_BLOCK:]
        if self.count - self._said >= _STEP:
            self._said = self.count
            self._sink(Progress(self._what, self.count, 0, "B"))
        return data

    def drain(self) -> None:
        while self.read(PIECE):
            pass


def _broken(what: str, count: int, problem: str) -> ReproError:
    return ReproError(
        "image-stream-broken",
        f"the file system of `{what}` could not be read to its end",
        found=[f"{count} bytes came", problem],
        needs="a whole tar archive, uncompressed, as `docker export` writes it",
        done="nothing was kept",
        tries=["docker ps", "run the same command again"],
    )
