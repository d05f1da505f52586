"""GPU code of a file that can be read at any place: headers alone, some milliseconds for a gigabyte."""

from collections.abc import Sequence

from repro.scan.elf.layout import HEADER, sections
from repro.scan.fatbin.container import Code, Container, Form
from repro.scan.fatbin.form import cubin, form
from repro.scan.fatbin.place import placed
from repro.scan.fatbin.steps import Steps
from repro.scan.reader import Bytes


def walk(reader: Bytes, deep: bool = False) -> Code:
    """GPU code of an ELF file, a bare container file or bare machine code.

    With `deep`, the data sections are searched as well, where vendors' libraries keep code that they load
    by themselves; that reads these sections whole. Unreadable when the file is none of the three.
    """
    head = reader.read(0, HEADER)
    kind = form(head)
    if kind == "elf":
        return placed(sections(reader), reader, deep)
    return bare(kind, head, reader)


def bare(kind: Form, head: bytes, reader: Bytes, seen: Sequence[Container] | None = None) -> Code:
    """The code of a file that is no library: all of it is judged."""
    if kind == "cubin":
        return Code("cubin", (cubin(head, reader.size),))
    steps = Steps(reader)
    steps.section("the file", "exec", 0, reader.size, seen)
    found = [Container("exec", c.offset, c.size, c.images, 0, bool(c.images)) for c in steps.containers]
    return Code("fatbin", tuple(found), tuple(steps.gaps), steps.problems.all())
