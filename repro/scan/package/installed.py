"""What lies in site-packages, gathered in whatever order it comes: who owns which compiled file."""

import csv
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from repro.model.binary import WheelFacts
from repro.scan.elf.hold import hold
from repro.scan.package.candidates import may_be_compiled
from repro.scan.package.compiled import Compiled
from repro.scan.package.distribution import Distribution, said_in_metadata
from repro.scan.package.torchsaid import ARCH_LIST_FILE, VERSION_FILE, ArchList, ends_with

LARGEST_TEXT = 16 << 20  # bytes; the RECORD of a torch is 1.5 MB
_MOST_TEXT = 256 << 20  # bytes of all of them; what comes after that has no owner

_METADATA = {(".dist-info", "METADATA"), (".egg-info", "PKG-INFO")}
_RECORDS = {(".dist-info", "RECORD"), (".egg-info", "installed-files.txt")}

# Deeper down are distributions that another one brought for itself; the empty name is the folder looked at.
_SITES = {"site-packages", "dist-packages", ""}

_STORE = re.compile(r"(?:^|/)archive-v\d+/[^/]+/")


class Installed:
    """Distributions below one or several site-packages. Paths have slashes and no leading one."""

    def __init__(self) -> None:
        self._room = _MOST_TEXT
        self._found: dict[str, Distribution] = {}  # by folder of the metadata
        self._owners: dict[str, str] = {}
        self._files: list[Compiled] = []
        self._versions: dict[str, str] = {}
        self._lists: dict[str, ArchList] = {}
        self._texts_aside: dict[str, bytes] = {}
        self._files_aside: dict[str, Compiled] = {}

    def wants(self, path: str) -> bool:
        """Whether the file is a text to give to `text`."""
        if self._room <= 0:
            return False
        if _parts(path) in _METADATA | _RECORDS:
            return posixpath.basename(_site(posixpath.dirname(path))) in _SITES or is_aside(path)
        return ends_with(path, VERSION_FILE)

    def text(self, path: str, data: bytes) -> None:
        """Take a file that `wants` named."""
        self._room -= len(data)
        if is_aside(path):
            self._texts_aside[path] = data
            return
        folder, name = posixpath.split(path)
        if name == posixpath.basename(VERSION_FILE):
            self._versions[path] = data.decode("utf-8", "replace")
            return
        found = self._found.setdefault(folder, Distribution(*_said_in_name(folder)))
        if _parts(path) in _METADATA:
            named, version = said_in_metadata(data)
            found.name, found.version = named or found.name, version or found.version
            return
        base = posixpath.dirname(folder) if name == "RECORD" else folder
        self._owners |= dict.fromkeys(_recorded(base, data), folder)

    def arch_list(self, path: str) -> ArchList | None:
        """Who wants to see the bytes of this file as well, None when nobody does."""
        return self._lists.setdefault(path, ArchList()) if ends_with(path, ARCH_LIST_FILE) else None

    def add(self, compiled: Compiled) -> None:
        """Take a compiled file."""
        if is_aside(compiled.facts.path):
            self._files_aside[compiled.facts.path] = compiled
        else:
            self._files.append(compiled)

    def link(self, path: str, target: str) -> None:
        """Take a second name of a file that was taken under its first one."""
        if target in self._texts_aside:
            self.text(path, self._texts_aside[target])
        if target in self._files_aside:
            known = self._files_aside[target]
            self.add(replace(known, facts=msgspec.structs.replace(known.facts, path=path)))
        if target in self._lists:
            self._lists[path] = self._lists[target]

    def wheels(self) -> list[WheelFacts]:
        """One for each distribution, by name, held against the torch beside it; last, files without owner.

        Those files are held against the torch if there is one alone.
        """
        self._give_away()
        exports = {site: found.exports() for site, found in self._torches()}
        only = next(iter(exports.values())) if len(exports) == 1 else None
        found = []
        for folder, distribution in sorted(self._found.items(), key=_named_first):
            facts = distribution.facts()
            torch = exports.get(_site(folder)) if folder else only
            binaries = hold(facts.binaries, torch) if torch else facts.binaries
            found.append(msgspec.structs.replace(facts, binaries=binaries))
        return found

    def site(self) -> str:
        """The site-packages with torch, else the one with most distributions; empty when there is none."""
        torches = [site for site, _ in self._torches()]
        sites = [_site(folder) for folder in self._found if folder]
        return max(torches or sites, key=sites.count, default="")

    def _give_away(self) -> None:
        for file in self._files:
            folder = self._owners.get(file.facts.path, "")
            self._found.setdefault(folder, Distribution()).files.append(file)
        self._files = []
        for site, torch in self._torches():
            torch.version_file = self._versions.get(posixpath.join(site, VERSION_FILE), "")
            torch.arch_list = self._lists.get(posixpath.join(site, ARCH_LIST_FILE), ArchList())

    def _torches(self) -> list[tuple[str, Distribution]]:
        return [(_site(folder), found) for folder, found in self._found.items() if found.name == "torch"]


def is_aside(path: str) -> bool:
    """Whether the file lies in the store that uv makes hard links from: nobody imports it there."""
    return _STORE.search(path) is not None


def _named_first(item: tuple[str, Distribution]) -> tuple[bool, str, str]:
    return not item[1].name, item[1].name, item[0]


def _site(folder: str) -> str:
    return posixpath.dirname(folder)


def _parts(path: str) -> tuple[str, str]:
    folder, name = posixpath.split(path)
    return posixpath.splitext(folder)[1], name


def _said_in_name(folder: str) -> tuple[str, str]:
    """Name and version in `torch-1.13.1.dist-info`, for when its METADATA does not come."""
    name, _, version = posixpath.splitext(posixpath.basename(folder))[0].partition("-")
    return said_in_metadata(f"Name: {name}\nVersion: {version}\n".encode())


def _recorded(base: str, data: bytes) -> Iterator[str]:
    """Paths in a RECORD that may be compiled; of a damaged one, those before the damage."""
    try:
        for row in csv.reader(data.decode("utf-8", "replace").splitlines()):
            if row and may_be_compiled(row[0]):
                yield posixpath.normpath(posixpath.join(base, row[0])).lstrip("/")
    except csv.Error:
        return
