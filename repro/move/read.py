"""Reads an exported file to its end, before anything of it is written."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

from repro import oci
from repro.events import Meter, Sink
from repro.files import sha256_bytes
from repro.model.bundle import Manifest
from repro.model.move import Export
from repro.model.snapshot import FileEntry
from repro.move import hold, image, names
from repro.move.hold import Seen
from repro.move.refused import refusing
from repro.move.stream import Count, Reading, copy
from repro.tarread import Entry, RefusedError, entries

_SMALL = 64 << 20
_KEPT = (names.MANIFEST, names.EXPORT, names.SIGNATURE, *hold.DOCUMENTS)


@dataclass(frozen=True)
class Checked:
    """An exported file of which every byte is as its manifest says.

    Attributes:
        top: name of the bundle's folder.
        image: None when the file has none; its layers' paths are None.
        documents: the bytes of those that are read before anything is written, by name.
    """

    top: str
    manifest: Manifest
    record: Export
    image: oci.OciImage | None
    documents: dict[str, bytes]

    @property
    def signature(self) -> bytes | None:
        """What the signers left."""
        return self.documents.get(names.SIGNATURE)


def check(source: IO[bytes], file: str, size: int, sink: Sink) -> Checked:
    """What is in the exported file `source` of `size` bytes, called `file`.

    Raises:
        import-refused: something is not as `repro export` writes it.
    """
    with refusing(file):
        return _check(source, Meter(sink, "verifying", size).add)


def peek(source: IO[bytes], file: str) -> tuple[Manifest, Export]:
    """Manifest and record of an exported file, of which the rest is not read; raises import-refused."""
    with refusing(file):
        seen = Seen()
        for name, entry in _below(source, lambda _size: None):
            if not entry.member.is_folder:
                _note(seen, name, entry)
            if names.EXPORT in seen.documents:
                return seen.manifest(), seen.record()
        raise RefusedError(f"`{names.EXPORT}` is missing")


def _check(source: IO[bytes], count: Count) -> Checked:
    seen = Seen()
    top = ""
    for name, entry in _below(source, count):
        top = top or entry.member.name.partition("/")[0]
        if not name:
            continue
        if entry.member.is_folder:
            seen.folders.add(name)
        elif name == names.IMAGE:
            seen.image = _image(seen, entry)
        else:
            _note(seen, name, entry)
    manifest, record = seen.manifest(), seen.record()
    hold.identity(manifest, record, top, seen)
    hold.documents(manifest, seen)
    hold.listed(manifest, record)
    hold.files(manifest, record, seen)
    return Checked(top, manifest, record, seen.image, seen.documents)


def _below(source: IO[bytes], count: Count) -> Iterator[tuple[str, Entry]]:
    """Entries with their names in the bundle's folder, which is the first of them, with the name ''."""
    top = ""
    for entry in entries(cast("IO[bytes]", Reading(source, count))):
        name = entry.member.name
        if not top:
            if "/" in name or not entry.member.is_folder:
                raise RefusedError("it does not begin with a bundle's folder")
            top = name
        elif not name.startswith(f"{top}/"):
            raise RefusedError(f"`{name!a}` lies beside the bundle's folder")
        inner = name[len(top) + 1 :]
        if inner and (why := names.fault(inner)):
            raise RefusedError(f"the name {inner!a} {why}")
        yield inner, entry


def _note(seen: Seen, name: str, entry: Entry) -> None:
    """Take the digest of a file; what is decided by is kept."""
    member = entry.member
    if member.link:
        if why := names.link_fault(name, member.link):
            raise RefusedError(f"{name!a} {why}")
        data = member.link.encode()
        seen.files[name] = FileEntry(path=name, bytes=len(data), sha256=sha256_bytes(data))
        return
    if name in _KEPT:
        if entry.size > _SMALL:
            raise RefusedError(f"`{name}` has {entry.size} bytes")
        data = seen.documents[name] = entry.data.read()
        sha256 = sha256_bytes(data)
    else:
        sha256 = copy(entry.data)
    seen.files[name] = FileEntry(path=name, bytes=entry.size, sha256=sha256)
    if member.executable:
        seen.programs.append(name)


def _image(seen: Seen, entry: Entry) -> oci.OciImage:
    content, said = seen.manifest().image, seen.record().image
    if content is None or said is None:
        raise RefusedError("it holds an image that it does not speak of")
    if entry.member.executable or entry.member.link or entry.size != said.bytes:
        raise RefusedError(f"`{names.IMAGE}` is not the one that `{names.EXPORT}` names")
    digest = hashlib.sha256()
    hashed = _Hashing(entry.data, digest)
    found = image.check(cast("IO[bytes]", hashed), content, said, lambda _size: None)
    while hashed.read(1 << 20):
        pass
    if digest.hexdigest() != said.sha256:
        raise RefusedError(f"`{names.IMAGE}` has sha256 {digest.hexdigest()}, not {said.sha256}")
    return found


class _Hashing:
    """A stream whose digest is taken as it is read."""

    def __init__(self, source: IO[bytes], digest: "hashlib._Hash") -> None:
        self._source, self._digest = source, digest

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        piece = self._source.read(size)
        self._digest.update(piece)
        return piece
