"""GPU code of a library, put into its sections: what the driver loads, what it may relink, what is data."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from repro.model.binary import Section
from repro.scan.elf.layout import ALLOC, EXECINSTR, NOBITS, Elf, ElfSection
from repro.scan.fatbin.container import Code, Container
from repro.scan.fatbin.problems import Problems
from repro.scan.fatbin.steps import Steps, between
from repro.scan.fatbin.wrappers import RELOCATABLE, by_section, join
from repro.scan.reader import Bytes, Unreadable

FATBIN: dict[str, Section] = {".nv_fatbin": "exec", RELOCATABLE: "reloc"}


@dataclass(frozen=True)
class Seen:
    """What a stream found without knowing the sections.

    Attributes:
        whole: containers in the order of the file.
        spans: (start, end) of all that was taken for a container, the broken ones too.
        problems: of the stream itself.
    """

    whole: tuple[Container, ...]
    spans: tuple[tuple[int, int], ...]
    problems: tuple[str, ...] = ()


def placed(elf: Elf, reader: Bytes, deep: bool, seen: Seen | None = None) -> Code:
    """Code in the sections of `elf`, joined with the registrations.

    What a stream has `seen` is used where it is beyond doubt, so that little or nothing is read again.
    Raises Unreadable when the file has to be read and cannot be; never where `seen` is given.
    """
    steps = Steps(reader)
    for section in _apart(elf.named(*FATBIN), reader.size, steps.problems):
        whole = seen.whole if seen else None
        steps.section(section.name, FATBIN[section.name], section.offset, section.end, whole)
    if deep:
        _data(elf, steps, reader, seen)
    containers, joined = _joined(elf, reader, steps)
    for problem in seen.problems if seen else ():
        steps.problems.add(problem)
    ordered = tuple(sorted(containers, key=lambda c: c.offset))
    return Code("elf", ordered, tuple(steps.gaps), steps.problems.all(), joined)


def unplaced(seen: Seen, why: str) -> Code:
    """Code of a library whose sections are not known: taken for what the driver loads."""
    problem = f"sections unknown, all GPU code is taken for loadable: {why}"
    containers = [Container("exec", c.offset, c.size, c.images) for c in seen.whole]
    return Code("elf", tuple(by_section(containers)), (), (problem, *seen.problems), joined=False)


def _apart(sections: Iterable[ElfSection], size: int, problems: Problems) -> list[ElfSection]:
    """Sections that lie in the file and do not overlap, in the order of the file."""
    apart: list[ElfSection] = []
    for section in sorted(sections, key=lambda s: (s.offset, s.size)):
        if section.end > size:
            problems.add(f"cut at byte {size}: {section.name} should reach to byte {section.end}")
        elif apart and section.offset < apart[-1].end:
            problems.add(f"{section.name} at byte {section.offset} overlaps {apart[-1].name}")
        else:
            apart.append(section)
    return apart


def _data(elf: Elf, steps: Steps, reader: Bytes, seen: Seen | None) -> None:
    fatbins = elf.named(*FATBIN)
    for section in _apart([*fatbins, *filter(_is_data, elf.sections)], reader.size, steps.problems):
        if section.name in FATBIN:
            continue
        if seen is not None and not _crossed(section, seen.spans):
            steps.containers += between(seen.whole, section.offset, section.end)
            continue
        try:
            steps.search(section.offset, section.end)
        except Unreadable as error:
            if seen is None:
                raise
            steps.problems.add(f"{section.name} could not be searched: {error}")


def _is_data(section: ElfSection) -> bool:
    plain = section.flags & ALLOC and not section.flags & EXECINSTR and section.type != NOBITS
    return bool(plain) and section.size > 0 and section.name not in FATBIN


def _crossed(section: ElfSection, spans: tuple[tuple[int, int], ...]) -> bool:
    """Something that was taken for a container reaches over a border of the section."""
    for border in (section.offset, section.end):
        before = bisect_left(spans, border, key=lambda span: span[0]) - 1
        if before >= 0 and spans[before][1] > border:
            return True
    return False


def _joined(elf: Elf, reader: Bytes, steps: Steps) -> tuple[list[Container], bool]:
    try:
        return join(elf, reader, steps.containers), True
    except Unreadable as error:
        steps.problems.add(f"registrations unknown, code is judged by its section: {error}")
        return by_section(steps.containers), False
