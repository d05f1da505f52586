"""One compiled file: its GPU code and what it asks of its surroundings, together."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from repro.model.binary import BinaryFacts, ElfFacts
from repro.scan.elf.dynamic import Surroundings, surroundings
from repro.scan.elf.exports import is_exporter
from repro.scan.elf.layout import HEADER
from repro.scan.fatbin.container import Code
from repro.scan.fatbin.form import form
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.search import Search
from repro.scan.fatbin.walk import walk
from repro.scan.package.candidates import is_compiled, is_shared_name
from repro.scan.reader import Bytes, Unreadable


@dataclass(frozen=True, slots=True)
class Compiled:
    """Facts of one file, and digests of the names it offers to other files."""

    facts: BinaryFacts
    offered: "array[int]"


def from_stream(path: str, head: bytes, chunks: Iterable[bytes], reader: Bytes) -> Compiled | None:
    """A file that goes by as `chunks`; None when it is not compiled, and then no chunk is taken.

    Args:
        path: name for the facts.
        head: its first 64 bytes.
        chunks: the whole file; where they raise Unreadable, that is all that is known of it.
        reader: serves what is asked for after the last chunk.
    """
    early = _early(path, reader.size, head)
    if early is not None or not is_compiled(head):
        return early
    search = Search(reader.size)
    try:
        for chunk in chunks:
            search.feed(chunk)
        code = search.finish(reader, deep=True)
    except Unreadable as problem:
        return refused(path, reader.size, problem)
    return _compiled(path, code, reader)


def from_file(path: str, reader: Bytes) -> Compiled | None:
    """A file that can be read at any place, with the facts of `from_stream`; None when it is not compiled."""
    try:
        head = reader.read(0, HEADER)
        early = _early(path, reader.size, head)
        if early is not None or not is_compiled(head):
            return early
        return _compiled(path, walk(reader, deep=True), reader)
    except Unreadable as problem:
        return refused(path, reader.size, problem)


def refused(path: str, size: int, problem: Unreadable) -> Compiled:
    """A file of which nothing is known but the reason."""
    return Compiled(BinaryFacts(path=path, bytes=size, problems=[str(problem)]), array("Q"))


def _early(path: str, size: int, head: bytes) -> Compiled | None:
    """What the first bytes settle: a shared object by name alone, or one that nobody here can load."""
    if not is_compiled(head) and not is_shared_name(path):
        return None
    try:
        form(head)
    except Unreadable as problem:
        return refused(path, size, problem)
    return None


def _compiled(path: str, code: Code, reader: Bytes) -> Compiled:
    problems = list(code.problems)
    around = Surroundings(ElfFacts(machine=""), array("Q"))
    if code.form == "elf":
        try:
            around = surroundings(reader, every_name=is_exporter(path))
        except Unreadable as problem:
            problems.append(f"libraries and symbols unknown: {problem}")
    facts = BinaryFacts(
        path=path,
        bytes=reader.size,
        form=code.form,
        groups=groups(code),
        joined=code.joined,
        elf=around.facts if around.facts.machine else None,
        problems=problems,
    )
    return Compiled(facts, around.offered)
