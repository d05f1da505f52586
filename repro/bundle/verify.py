"""Holds every file of a bundle against its manifest."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from repro.bundle.assemble import NOT_LISTED, content_sha256
from repro.bundle.read import Bundle
from repro.bundle.thin import left_out
from repro.events import Progress, Sink, silent
from repro.files import read_regular
from repro.model import canonical


@dataclass(frozen=True)
class Damage:
    """One way in which a bundle is not what its manifest says."""

    path: str
    kind: Literal["missing", "altered", "foreign", "id", "form"]
    found: str
    needed: str


def verify(bundle: Bundle, sink: Sink = silent) -> list[Damage]:
    """Return all damage; an empty list means that every byte is as packed.

    A wheel that was left out on purpose, see `thin`, is no damage while it is missing.
    """
    damage = list(_identity(bundle))
    listed = {entry.path: entry for entry in bundle.manifest.files}
    absent = left_out(bundle.path)
    for number, (name, entry) in enumerate(sorted(listed.items()), 1):
        sink(Progress("verifying", number, len(listed), "files"))
        path = bundle.path / name
        if not path.is_file() and not path.is_symlink():
            if name in absent:
                continue
            damage.append(Damage(name, "missing", "no such file", f"sha256 {entry.sha256}"))
        elif (found := content_sha256(path)) != entry.sha256:
            damage.append(Damage(name, "altered", f"sha256 {found}", f"sha256 {entry.sha256}"))
    damage += [
        Damage(name, "foreign", "not in the manifest", "no such file")
        for name in _foreign(bundle.path, set(listed))
    ]
    return damage


def _identity(bundle: Bundle) -> Iterator[Damage]:
    manifest = bundle.manifest
    if not canonical.is_pretty(read_regular(bundle.path / "bundle.json")):
        yield Damage(
            "bundle.json", "form", "not in canonical form", "sorted keys, each once, indented by one"
        )
    if manifest.id != manifest.identity.id:
        yield Damage("bundle.json", "id", manifest.id, manifest.identity.id)
    if manifest.identity.lock != bundle.lock.requirements_sha256:
        yield Damage("lock.json", "id", bundle.lock.requirements_sha256, manifest.identity.lock)


def _foreign(folder: Path, listed: set[str]) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if relative.parts[0] not in NOT_LISTED and not path.is_dir() and relative.as_posix() not in listed:
            yield relative.as_posix()
