"""The empty environment that the base image's own Python makes, with what of it a lock replaces."""

import csv
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from repro.image.layers.inside import Made
from repro.image.layers.piece import Piece, Pieces
from repro.image.layers.scripts import template_of
from repro.image.layers.wheel import ENV
from repro.model.lock import Wheel
from repro.tarball import Member

_METADATA = re.compile(rf"{ENV}/(lib/python[\d.]+/site-packages)/([^/]+?)-([^/-]+)\.dist-info/RECORD$")


@dataclass(frozen=True)
class _Installed:
    version: str
    files: frozenset[str]


@dataclass(frozen=True)
class Skeleton:
    """`template` is what its pip makes scripts of; `installed` its packages by normalised name."""

    piece: Piece
    template: str
    installed: dict[str, _Installed]

    @property
    def names(self) -> set[str]:
        """Packages in it."""
        return set(self.installed)

    def has(self, wheel: Wheel) -> bool:
        """Whether it holds that very version: pip then leaves it as it is."""
        return wheel.name in self.installed and self.installed[wheel.name].version == wheel.version

    def without(self, names: set[str]) -> list[Member]:
        """What stays when pip has taken those packages away: their files, and folders that are empty then."""
        gone = {f for name in names if name in self.installed for f in self.installed[name].files}
        kept = [m for m in self.piece.members() if m.name not in gone and _source_of(m.name) not in gone]
        used = {parent for m in kept if not m.is_folder for parent in _above(m.name)}
        touched = {parent for name in gone for parent in _above(name)}
        return [m for m in kept if not m.is_folder or m.name in used or m.name not in touched]


def known(base_key: str, pieces: Pieces) -> Skeleton | None:
    """The skeleton of a base image that was made before."""
    piece = pieces.find(_key(base_key))
    return _read(piece) if piece else None


def keep(base_key: str, pieces: Pieces, made: Made) -> Skeleton:
    """The skeleton that was just made of a base image."""

    @contextmanager
    def given() -> Iterator[list[Member]]:
        yield made.environment

    return _read(pieces.get(_key(base_key), given))


def _key(base_key: str) -> list[str]:
    return ["venv", base_key]


def _read(piece: Piece) -> Skeleton:
    members = {member.name: member for member in piece.members()}
    site = next((m.name for m in members.values() if m.name.endswith("/site-packages")), "")

    def read(path: str) -> bytes:
        with members[f"{site}/{path}"].content().open() as source:
            return source.read()

    return Skeleton(piece, template_of(read), dict(_installed(members)))


def _installed(members: dict[str, Member]) -> Iterator[tuple[str, _Installed]]:
    for name, member in members.items():
        if found := _METADATA.match(name):
            with member.content().open() as source:
                rows = list(csv.reader(source.read().decode("utf-8").splitlines()))
            files = {posixpath.normpath(f"{ENV}/{found[1]}/{row[0]}") for row in rows if row}
            yield re.sub(r"[-_.]+", "-", found[2]).lower(), _Installed(found[3], frozenset(files))


def _source_of(name: str) -> str:
    """The source of bytecode, else nothing."""
    folder, _, file = name.rpartition("/")
    top, _, last = folder.rpartition("/")
    return f"{top}/{file.rsplit('.', 2)[0]}.py" if last == "__pycache__" else ""


def _above(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]
