"""One distribution put together: its files with their owner, names that they give one another left out."""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
from packaging.utils import canonicalize_name

from repro.model.binary import BinaryFacts, WheelFacts
from repro.scan.elf.exports import Exports, is_exporter, offers, together
from repro.scan.package.cache import READER
from repro.scan.package.compiled import Compiled
from repro.scan.package.torchsaid import ArchList, cuda_and_commit


@dataclass
class Distribution:
    """What was seen of one distribution so far.

    Attributes:
        file, sha256: of its wheel, empty for an installed one.
        version_file: text of `torch/version.py`; `arch_list`: what was seen of its list of targets.
    """

    name: str = ""
    version: str = ""
    file: str = ""
    sha256: str = ""
    version_file: str = ""
    arch_list: ArchList = field(default_factory=ArchList)
    files: list[Compiled] = field(default_factory=list)

    def facts(self) -> WheelFacts:
        """All of it as a record; `missing` is not filled."""
        cuda, commit = cuda_and_commit(self.version_file)
        return WheelFacts(
            reader=READER,
            file=self.file,
            sha256=self.sha256,
            name=self.name,
            version=self.version,
            binaries=sorted(map(self._owned, _apart(self.files)), key=lambda facts: facts.path),
            torch_cuda=cuda,
            torch_arch_list=self.arch_list.targets,
            git_version=commit,
        )

    def exports(self) -> Exports | None:
        """The names that this torch offers; None when this is no torch, or a library of it could not be read.

        A part of the names would make every extension look broken.
        """
        libraries = {posixpath.basename(f.facts.path): f for f in self.files if is_exporter(f.facts.path)}
        if self.name != "torch" or not _are_whole(libraries):
            return None
        return together(file.offered for file in libraries.values())

    def _owned(self, facts: BinaryFacts) -> BinaryFacts:
        return msgspec.structs.replace(facts, owner=self.name, version=self.version)


def _are_whole(libraries: dict[str, Compiled]) -> bool:
    """All were read, and those that they name as needed are among them."""
    read = [file.facts.elf for file in libraries.values() if file.facts.elf]
    needed = {name for elf in read for name in elf.needed if is_exporter(f"torch/lib/{name}")}
    return len(read) == len(libraries) and needed | {"libc10.so"} <= libraries.keys()


def said_in_metadata(data: bytes) -> tuple[str, str]:
    """Normalised name and version from the head of a `METADATA` file, empty where it says none."""
    found = {"name": "", "version": ""}
    for line in data.decode("utf-8", "replace").splitlines():
        key, colon, value = line.partition(":")
        if not colon and not line.strip():
            break
        if key.lower() in found and not found[key.lower()]:
            found[key.lower()] = value.strip()
    return canonicalize_name(found["name"]), found["version"]


def _apart(files: list[Compiled]) -> Iterator[BinaryFacts]:
    """Facts without the torch names that a library of the same distribution gives."""
    by_name = {name: file for file in files for name in _names(file.facts)}
    for file in files:
        elf = file.facts.elf
        if elf is None or not elf.torch_symbols:
            yield file.facts
            continue
        others = [other.offered for other in _reached(file, by_name)]
        left = [name for name in elf.torch_symbols if not any(offers(given, name) for given in others)]
        yield msgspec.structs.replace(file.facts, elf=msgspec.structs.replace(elf, torch_symbols=left))


def _names(facts: BinaryFacts) -> Iterable[str]:
    if facts.elf is None:
        return ()
    return {posixpath.basename(facts.path), facts.elf.soname} - {""}


def _reached(file: Compiled, by_name: dict[str, Compiled]) -> list[Compiled]:
    """Libraries of the distribution that loading this one loads."""
    found: dict[str, Compiled] = {}
    waiting = [file]
    while waiting:
        elf = waiting.pop().facts.elf
        for name in elf.needed if elf else ():
            other = by_name.get(name)
            if other is not None and other.facts.path not in found:
                found[other.facts.path] = other
                waiting.append(other)
    return list(found.values())
