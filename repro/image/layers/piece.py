"""A piece of an image: a canonical tar and the list of what is in it, kept by what it was made of."""

import contextlib
import io
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from repro import tarball, tarread
from repro.files import alone, write_whole
from repro.image.layers.inside import Slice
from repro.image.tree import Line, line_of
from repro.model import canonical
from repro.oci.blobs import Blob, Blobs
from repro.tarball import Content, Member

# Counts in every key: another way of writing pieces makes other pieces.
_WAY = 2


@dataclass(frozen=True)
class Piece:
    """A tar and the files in it."""

    blob: Blob
    lines: list[Line]

    def members(self) -> list[Member]:
        """What is in it, read from the blob when needed."""
        if self.blob.path is None:
            raise ValueError("the piece is not held here")
        return in_archive(self.blob.path)


def in_archive(path: Path, place: str = "") -> list[Member]:
    """Members of a canonical tar, below `place`; their content is read from it when needed."""
    prefix = f"{place}/" if place else ""
    with path.open("rb") as tar:
        return [_lying(entry, path, tar.tell(), prefix) for entry in tarread.entries(tar)]


def _lying(entry: tarread.Entry, path: Path, start: int, prefix: str) -> Member:
    member = entry.member
    name = prefix + member.name
    if member.is_folder or member.link:
        return Member(name, link=member.link)
    content = Content(entry.size, lambda: io.BufferedReader(Slice(path, start, entry.size)))
    return Member(name, content, executable=member.executable)


class Pieces:
    """The pieces of one cache: `layers/KEY.json` names blob and files."""

    def __init__(self, cache: Path, blobs: Blobs) -> None:
        self._folder = cache / "layers"
        self._blobs = blobs

    def find(self, key: object) -> Piece | None:
        """The piece made of `key`; None when there is none, or its blob was pruned."""
        path = self._path(key)
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
            blob = self._blobs.find(kept.digest)
            if blob:
                return Piece(blob, kept.lines)
        return None

    def get(self, key: object, members: Callable[[], AbstractContextManager[Iterable[Member]]]) -> Piece:
        """The piece made of `key`, written from `members` when there is none yet."""
        with alone(self._path(key)):
            found = self.find(key)
            if found is None:
                with members() as given:
                    found = self._write(given)
                kept = _Kept(found.blob.digest, found.lines)
                write_whole(self._path(key), msgspec.json.encode(kept))
        return found

    def note(self, key: object, value: object) -> None:
        """Remember something of `key`, that `noted` gives back."""
        write_whole(self._path(key), msgspec.json.encode(value))

    def noted(self, key: object) -> Any:
        """What was remembered of `key`, or None."""
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._path(key).read_bytes())
        return None

    def _write(self, members: Iterable[Member]) -> Piece:
        lines: list[Line] = []
        with self._blobs.adding() as out:
            tarball.write(out, members, lambda member, sha256: lines.append(line_of(member, sha256)))  # type: ignore[arg-type]
        return Piece(out.blob, lines)

    def _path(self, key: object) -> Path:
        return self._folder / f"{canonical.digest([_WAY, key])}.json"


class _Kept(msgspec.Struct, frozen=True):
    digest: str
    lines: list[Line]
