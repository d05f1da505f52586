"""Holds what went by against what the file's own lists say, name by name."""

from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from repro import oci
from repro.model import canonical
from repro.model.bundle import Manifest, RunSpec
from repro.model.lock import Lock
from repro.model.move import Export
from repro.model.record import Record
from repro.model.snapshot import EvalSet, FileEntry, ParamSet, Snapshot
from repro.move import names
from repro.move.pack import top_of
from repro.tarread import RefusedError

T = TypeVar("T")
# What opening a bundle reads.
DOCUMENTS: dict[str, type[Record]] = {
    "snapshot.json": Snapshot,
    "lock.json": Lock,
    "params.json": ParamSet,
    "eval.json": EvalSet,
    "protocol.json": RunSpec,
}


@dataclass
class Seen:
    """What has gone by so far; `documents` are the bytes of those that are decided by."""

    files: dict[str, FileEntry] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)
    documents: dict[str, bytes] = field(default_factory=dict)
    image: oci.OciImage | None = None

    def manifest(self) -> Manifest:
        """What the file says that it holds."""
        return _decode(self.documents, names.MANIFEST, Manifest)

    def record(self) -> Export:
        """What it says of itself."""
        found = _decode(self.documents, names.EXPORT, Export)
        if canonical.pretty(found) != self.documents[names.EXPORT]:
            raise RefusedError(f"`{names.EXPORT}` is not written as this tool writes it")
        return found


def identity(manifest: Manifest, record: Export, top: str, seen: Seen) -> None:
    """Raise RefusedError unless id, names and digests of the documents fit each other."""
    if (manifest.schema, record.schema) != (1, 1):
        raise RefusedError(
            f"schemas {manifest.schema}, {record.schema} are of a newer tool; this one knows 1"
        )
    if not canonical.is_pretty(seen.documents[names.MANIFEST]):
        raise RefusedError(f"`{names.MANIFEST}` is not in canonical form")
    if manifest.id != manifest.identity.id:
        raise RefusedError(f"its id is {manifest.id!a}, and what it is made of gives {manifest.identity.id}")
    if top != top_of(manifest) or "/" in top_of(manifest) or names.fault(top) or top.startswith((".", "-")):
        raise RefusedError(f"its folder is {top!a}, and its name and id give {top_of(manifest)!a}")
    if (found := seen.files[names.MANIFEST].sha256) != record.bundle:
        raise RefusedError(f"`{names.MANIFEST}` has sha256 {found}, not {record.bundle}")
    if (record.image is None) != (seen.image is None):
        raise RefusedError(f"`{names.IMAGE}` is missing")


def documents(manifest: Manifest, seen: Seen) -> None:
    """Raise RefusedError for a document that nobody could open, or that is of another bundle."""
    for name, kind in DOCUMENTS.items():
        _decode(seen.documents, name, kind)
    lock = _decode(seen.documents, "lock.json", Lock)
    if lock.requirements_sha256 != manifest.identity.lock:
        raise RefusedError("`lock.json` is not the lock that the bundle's id was made of")


def listed(manifest: Manifest, record: Export) -> None:
    """Raise RefusedError for a list that names what it may not."""
    own = [entry.path for entry in manifest.files]
    known = set(own)
    beside = [entry.path for entry in record.beside]
    if wrong := [name for name in own if names.is_reserved(name)]:
        raise RefusedError(f"the manifest lists {wrong[0]!a}, a name that is kept for something else")
    if wrong := [name for name in beside if not names.is_beside(name)]:
        raise RefusedError(f"`{names.EXPORT}` lists {wrong[0]!a}, which has no place beside a bundle")
    if wrong := [name for name in record.left_out if name not in known or not names.is_spare(name)]:
        raise RefusedError(f"{wrong[0]!a} was left out, and is no wheel nor base layer of this bundle")
    if len({*own, *beside}) != len(own) + len(beside):
        raise RefusedError("a file is listed twice")
    if pair := names.collision([*own, *beside, *names.RESERVED]):
        raise RefusedError(f"{pair[0]!a} and {pair[1]!a} are one name on some file systems")


def files(manifest: Manifest, record: Export, seen: Seen) -> None:
    """Raise RefusedError unless exactly what is listed went by."""
    left = set(record.left_out)
    wanted = {entry.path: entry for entry in manifest.files if entry.path not in left}
    wanted |= {entry.path: entry for entry in record.beside}
    found = {name: entry for name, entry in seen.files.items() if name not in (names.MANIFEST, names.EXPORT)}
    for name, entry in found.items():
        if name not in wanted:
            raise RefusedError(f"{name!a} is not in its manifest")
        if entry != wanted[name]:
            needed = wanted[name]
            needs = f"{needed.bytes} bytes, sha256 {needed.sha256}"
            raise RefusedError(f"{name!a} has {entry.bytes} bytes, sha256 {entry.sha256}, not {needs}")
    if missing := sorted(set(wanted) - set(found)):
        raise RefusedError(f"{missing[0]!a} is missing")
    if sorted(seen.programs) != record.programs:
        raise RefusedError("other files may be executed than its list says")
    above = {name[:i] for name in wanted for i, sign in enumerate(name) if sign == "/"}
    if wrong := sorted(seen.folders - above - set(names.FOLDERS)):
        raise RefusedError(f"the folder {wrong[0]!a} belongs to nothing")


def _decode(held: dict[str, bytes], name: str, kind: type[T]) -> T:
    if name not in held:
        raise RefusedError(f"`{name}` is missing")
    try:
        return msgspec.json.decode(held[name], type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise RefusedError(f"`{name}` cannot be read: {problem}") from problem
