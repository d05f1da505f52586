"""Which of the files that were read the loader finds, as it does by the search paths in them."""

import posixpath
from collections.abc import Iterable
from pathlib import PurePosixPath

from repro.model.binary import BinaryFacts
from repro.tables.systemlibs import debian_package

Found = tuple[BinaryFacts, tuple[str, ...]]


class Files:
    """Compiled files by folder and name."""

    def __init__(self, binaries: Iterable[BinaryFacts]) -> None:
        self._at: dict[tuple[str, str], BinaryFacts] = {}
        self._named: dict[str, BinaryFacts] = {}
        for facts in binaries:
            for name in _names(facts):
                self._at.setdefault((posixpath.dirname(facts.path), name), facts)
                self._named.setdefault(name, facts)

    def find(self, name: str, places: Iterable[str]) -> BinaryFacts | None:
        """The file that serves `name` from these folders.

        A name that no Debian package is known for counts wherever it lies: packages load such files
        themselves before they are asked for. What many systems have, libGL say, is taken from no stranger.
        """
        found = next((f for place in places if (f := self._at.get((place, name)))), None)
        return found or (None if debian_package(name) else self._named.get(name))

    def comes_with_torch(self, name: str) -> bool:
        """Whether torch has loaded a library of that name before a file linked with torch asks for it."""
        return any(at == name and folder.endswith("torch/lib") for folder, at in self._at)

    def loaded(self, modules: Iterable[BinaryFacts]) -> list[Found]:
        """The modules and all that they ask for, and so on, each with the folders searched for it."""
        waiting: list[Found] = [(facts, search_path(facts)) for facts in modules]
        reached: dict[str, Found] = {}
        while waiting:
            facts, places = waiting.pop()
            if facts.path in reached:
                continue
            reached[facts.path] = (facts, places)
            wanted = [self.find(name, places) for name in (facts.elf.needed if facts.elf else ())]
            # An RPATH holds for what the file asks for, too.
            waiting += [(f, tuple(dict.fromkeys((*search_path(f), *places)))) for f in wanted if f]
        return list(reached.values())


def search_path(facts: BinaryFacts) -> tuple[str, ...]:
    """Folders that the file's own RPATH and RUNPATH name, relative to where its path starts."""
    origin = posixpath.dirname(facts.path)
    written = [part for entry in (facts.elf.runpath if facts.elf else []) for part in entry.split(":")]
    expanded = [
        part.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin or ".") for part in written if part
    ]
    return tuple(_normal(part) for part in expanded)


def _normal(folder: str) -> str:
    found = posixpath.normpath(folder)
    return "" if found == "." else found


def _names(facts: BinaryFacts) -> set[str]:
    soname = facts.elf.soname if facts.elf else ""
    return {PurePosixPath(facts.path).name, soname} - {""}
