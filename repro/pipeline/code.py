"""A project's own code for the check, in its folder or packed: sources, and compiled files among them."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from repro.errors import ReproError
from repro.model.binary import BinaryFacts
from repro.model.check import SourceFact, Stack
from repro.scan.package.compiled import from_file, refused
from repro.scan.reader import Bytes, FileBytes, Unreadable
from repro.scan.source.codefiles import MAX_BYTES, is_read, plain_text
from repro.scan.source.sources import scan_sources

_SET = msgspec.structs.replace


def with_folder(stack: Stack, root: Path, sources: list[SourceFact]) -> Stack:
    """The stack with a project's `sources` as scanned, and with the compiled files that they name."""
    found = []
    for name in _compiled_names(sources):
        if (root / name).is_file():
            found += _read_file(root / name, name)
    return _SET(stack, sources=sources, binaries=[*stack.binaries, *found])


def with_tar(stack: Stack, tar: Path) -> Stack:
    """The stack with what a bundle's `code.tar` says; names are those in the project.

    Raises:
        bundle-unreadable: the archive is gone, cut or none.
    """
    try:
        sources, found = _in_tar(tar)
    except (OSError, tarfile.TarError) as problem:
        raise ReproError(
            "bundle-unreadable",
            f"`{tar.name}` of bundle `{tar.parent.name}` cannot be read",
            found=str(problem).partition("\n")[0],
            tries=[f"repro verify {tar.parent}", "repro build"],
        ) from problem
    return _SET(stack, sources=sources, binaries=[*stack.binaries, *found])


def _in_tar(tar: Path) -> tuple[list[SourceFact], list[BinaryFacts]]:
    sources = scan_sources(_texts(tar))
    wanted = set(_compiled_names(sources))
    found: list[BinaryFacts] = []
    if wanted:
        with tarfile.open(tar, "r:") as code, FileBytes(tar) as whole:
            for member in code:
                if member.isfile() and _name(member) in wanted:
                    found += _facts(_name(member), _Part(whole, member.offset_data, member.size))
    return sources, found


def _compiled_names(sources: list[SourceFact]) -> list[str]:
    """Shared objects that lie in the code; what a build folder holds is made anew."""
    return [fact.where for fact in sources if fact.kind == "build-folder"]


def _texts(tar: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(tar, "r:") as code:
        for member in code:
            if member.isfile():
                yield _name(member), _text(code, member) if is_read(member.name) else ""


def _text(code: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    content = code.extractfile(member) if member.size <= MAX_BYTES else None
    return plain_text(content.read()) if content else ""


def _name(member: tarfile.TarInfo) -> str:
    return member.name.partition("/")[2]


@dataclass(frozen=True)
class _Part:
    """A member of a tar that is not compressed, read where it lies."""

    whole: Bytes
    start: int
    size: int

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the member; short only at its end."""
        return self.whole.read(self.start + offset, max(0, min(length, self.size - offset)))


def _read_file(path: Path, name: str) -> list[BinaryFacts]:
    try:
        with FileBytes(path) as reader:
            return _facts(name, reader)
    except Unreadable as problem:
        return [refused(name, 0, problem).facts]


def _facts(name: str, reader: Bytes) -> list[BinaryFacts]:
    compiled = from_file(name, reader)
    return [compiled.facts] if compiled else []
