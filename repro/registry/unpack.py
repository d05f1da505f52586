"""Lays a bundle's files out of an artifact, and takes nothing that its manifest does not list."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.files import sha256_bytes
from repro.model.snapshot import FileEntry
from repro.oci import Blob, Blobs
from repro.registry.artifact import (
    BESIDE_TYPE,
    FILE_TYPE,
    LISTED_TYPE,
    PROGRAM,
    ArtifactManifest,
    Descriptor,
)
from repro.registry.download import foreign
from repro.tarread import Entry, RefusedError, entries

_PIECE = 1 << 20


@dataclass(frozen=True)
class Rules:
    """Which names may come in.

    Attributes:
        listed: the manifest's files by path.
        fault: why a name may not be, or empty. link_fault: the same for a name and where it points.
        collision: two of some names that are one on some file systems, or None.
        is_beside: whether a file may come that the manifest does not list.
        folders: those that may be empty.
    """

    listed: Mapping[str, FileEntry]
    fault: Callable[[str], str]
    link_fault: Callable[[str, str], str]
    collision: Callable[[Iterable[str]], tuple[str, str] | None]
    is_beside: Callable[[str], bool]
    folders: tuple[str, ...]

    def check(self, name: str) -> None:
        """Refuse a file of that name; raises RefusedError."""
        if name not in self.listed and (not self.is_beside(name) or self.fault(name)):
            raise RefusedError(f"{name!a} is not in the bundle's manifest")


def check(artifact: ArtifactManifest, rules: Rules) -> None:
    """Hold the list of blobs against the bundle's manifest, before any is fetched.

    Raises:
        registry-content: it names other files, or other content.
    """
    with_title = [row for row in artifact.layers if row.mediaType == FILE_TYPE]
    tars = [row for row in artifact.layers if row.mediaType in (LISTED_TYPE, BESIDE_TYPE)]
    try:
        if len(with_title) + len(tars) != len(artifact.layers):
            raise RefusedError("it names blobs of a kind that this tool does not know")
        if len({row.title for row in with_title}) != len(with_title):
            raise RefusedError("it names a file twice")
        for row in with_title:
            _check_large(row, rules)
        _check_names({*rules.listed, *(row.title for row in with_title)}, rules)
    except RefusedError as problem:
        raise foreign("the list of the bundle's parts", str(problem), "what `repro push` writes") from None


def _check_names(names: Iterable[str], rules: Rules) -> None:
    known = set(names)
    if above := sorted({name[:i] for name in known for i, sign in enumerate(name) if sign == "/"} & known):
        raise RefusedError(f"{above[0]!a} is a file, and a folder of others")
    if pair := rules.collision(sorted(known)):
        raise RefusedError(f"{pair[0]!a} and {pair[1]!a} are one name on some file systems")


def _check_large(row: Descriptor, rules: Rules) -> None:
    rules.check(row.title)
    entry = rules.listed.get(row.title)
    if entry and (row.digest, row.size) != (f"sha256:{entry.sha256}", entry.bytes):
        raise RefusedError(f"{row.title!a} has digest {row.digest}, not sha256:{entry.sha256}")


def unpack(
    artifact: ArtifactManifest,
    rules: Rules,
    fetch: Callable[[str, int], Blob],
    blobs: Blobs,
    into: Path,
) -> None:
    """Fetch every part and put the files into the folder `into`, which is empty.

    Raises:
        registry-content: a part holds something else than the bundle's manifest lists, or not all of it.
    """
    seen: set[str] = set()
    for row in artifact.layers:
        blob = fetch(row.digest, row.size)
        if row.mediaType == FILE_TYPE:
            _place(blob, blobs, into / row.title, program=PROGRAM in row.annotations)
            seen.add(row.title)
            continue
        try:
            seen |= _unpack_tar(blob, rules, into, seen)
        except RefusedError as problem:
            raise foreign("a part of the bundle", str(problem), "what `repro push` writes") from None
    try:
        _check_names(seen, rules)
    except RefusedError as problem:
        raise foreign("the bundle", str(problem), "what `repro push` writes") from None
    if missing := sorted(set(rules.listed) - seen):
        raise foreign("the bundle", f"{missing[0]!a} is missing", f"{len(rules.listed)} files")


def _place(blob: Blob, blobs: Blobs, target: Path, *, program: bool) -> None:
    if program:  # its rights are of the file itself, and the cache's own name for it must keep others
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_path(blob), target)
        target.chmod(0o755)
    else:
        blobs.give(blob, target)


def _path(blob: Blob) -> Path:
    if blob.path is None:
        raise ValueError(f"{blob.digest} is not here")
    return blob.path


def _unpack_tar(blob: Blob, rules: Rules, into: Path, seen: set[str]) -> set[str]:
    found: set[str] = set()
    above = {name[:i] for name in rules.listed for i, sign in enumerate(name) if sign == "/"}
    with _path(blob).open("rb") as source:
        for entry in entries(source):
            name = entry.member.name
            if entry.member.is_folder:
                known = name in above or name in rules.folders or rules.is_beside(f"{name}/-")
                if not known or rules.fault(name):
                    raise RefusedError(f"the folder {name!a} belongs to nothing")
                (into / name).mkdir(parents=True, exist_ok=True)
                continue
            rules.check(name)
            if name in seen:
                raise RefusedError(f"{name!a} comes twice")
            _write(entry, rules, into / name)
            found.add(name)
    return found


def _write(entry: Entry, rules: Rules, target: Path) -> None:
    """Put one file or link where nothing is yet, while its digest is taken."""
    name, needed = entry.member.name, rules.listed.get(entry.member.name)
    if entry.member.link:
        if needed is None or (why := rules.link_fault(name, entry.member.link)):
            raise RefusedError(f"{name!a} {why if needed else 'is a link'}")
        sha256 = sha256_bytes(entry.member.link.encode())
        target.symlink_to(entry.member.link)
    else:
        if needed and entry.size != needed.bytes:
            raise RefusedError(f"{name!a} has {entry.size} bytes, not {needed.bytes}")
        sha256 = _copy(entry, target)
    if needed and sha256 != needed.sha256:
        raise RefusedError(f"{name!a} has sha256 {sha256}, not {needed.sha256}")


def _copy(entry: Entry, target: Path) -> str:
    digest = hashlib.sha256()
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if entry.member.executable else 0o644)
    with os.fdopen(fd, "wb") as out:
        os.fchmod(fd, 0o755 if entry.member.executable else 0o644)
        while piece := entry.data.read(_PIECE):
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()
