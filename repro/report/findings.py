"""Findings of a check as lines: reason first, then the evidence field by field."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from repro.model.check import Finding
from repro.report import lay
from repro.report.lay import Paint
from repro.report.told import Together, code_of, is_of_lock, together

Depth = Literal["less", "usual", "all"]

TONES = {"runs": "good", "will-fail": "bad", "error": "bad", "note": "faint"}
_FIELD = 8
_MOST_PLACES = 4
_MOST_FOUND = 6
_MOST_WORDS = 2000
_OBVIOUS = ("", "command line", "memory")  # places that tell a reader nothing
_TORCH = re.compile(r"\btorch \d|\b(?:that torch|torch of today)\b")
_LINES_OF_LOCK = 2  # for each code of the lock that is no error


def findings_lines(findings: Iterable[Finding], width: int, paint: Paint, depth: Depth) -> list[str]:
    """Worst first, notes last and short; with depth `all` each one in full."""
    groups = together(findings)
    if depth == "all":
        groups = [Together((f,)) for group in groups for f in group.findings]
    lines = []
    for group in groups:
        if len(group.findings) == 1:
            lines += finding_lines(group.first, width, paint, full=depth == "all")
        elif is_of_lock(group.first) and group.first.severity != "error":
            lines += _of_lock(group, width, paint)
        elif group.first.severity == "note":
            lines += _notes(group, width, paint)
        else:
            lines += _alike(group, width, paint)
    return lines


def finding_lines(finding: Finding, width: int, paint: Paint, *, full: bool = False) -> list[str]:
    """One finding: reason first, then its evidence, field by field; of a note what was found alone."""
    place = f"{finding.where}: " if finding.where not in _OBVIOUS else ""
    lines = _head(finding, f"{place}{finding.why}", width, paint)
    lines += _field("found", [finding.found], width)
    return lines if finding.severity == "note" and not full else lines + _answer(finding, width)


def _alike(group: Together, width: int, paint: Paint) -> list[str]:
    """Several findings with one reason and one fix: what was found at each place."""
    lines = _head(group.first, group.first.why, width, paint)
    found = [f.found if _is_named(f) else f"{f.where}: {f.found}" for f in group.findings]
    more = len(found) - _MOST_FOUND
    shown = [*found[:_MOST_FOUND], f"and {more} more"] if more > 1 else found
    return [*lines, *_field("found", shown, width), *_answer(group.first, width)]


def _is_named(finding: Finding) -> bool:
    """Whether what was found says the place itself, or the place says nothing."""
    return finding.where in _OBVIOUS or finding.found.startswith(finding.where)


def _notes(group: Together, width: int, paint: Paint) -> list[str]:
    places = list(dict.fromkeys(f.where for f in group.findings if f.where not in _OBVIOUS))
    said = f": {_some(places)}" if places else ""
    return _head(group.first, f"{group.first.why}{said}", width, paint)


def _of_lock(group: Together, width: int, paint: Paint) -> list[str]:
    """What the lock said and no verdict rests on: for each of its codes the first place and what is there."""
    by_code: dict[str, list[Finding]] = {}
    for f in group.findings:
        by_code.setdefault(code_of(f), []).append(f)
    verb = "notes" if group.first.severity == "note" else "warns of"
    lines = _head(group.first, f"the lock {verb} these lines; no verdict rests on them", width, paint)
    broad = max(map(len, by_code)) + 2
    for code, found in by_code.items():
        said = f"{found[0].where}: {_torch_first(found[0])}".removeprefix(": ")
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        room = (width - 4 - broad) * _LINES_OF_LOCK - len(more) - 8
        said = said if len(said) <= room else f"{said[: max(room, 20)].rsplit(' ', 1)[0]} …"
        first = " " * 4 + code.ljust(broad)
        lines += lay.wrapped(said + more, width, first, " " * len(first))
    return lines


def _torch_first(finding: Finding) -> str:
    """What the lock said, beginning with what it said of a version of torch: the rest may not fit."""
    parts = finding.found.partition(":")[2].strip().split("; ")
    return "; ".join(sorted(parts, key=lambda part: not _TORCH.search(part)))


def _some(places: Sequence[str]) -> str:
    more = len(places) - _MOST_PLACES
    return ", ".join(places if more < 2 else places[:_MOST_PLACES]) + (f" and {more} more" * (more > 1))


def _head(finding: Finding, words: str, width: int, paint: Paint) -> list[str]:
    code = f"{finding.severity}[{finding.rule}]"
    first, *rest = lay.wrapped(f"{code}: {words}", width, "  ", "    ")
    return [first.replace(code, paint(TONES.get(finding.severity, "open"), code), 1), *rest]


def _answer(finding: Finding, width: int) -> list[str]:
    lines = _field("needs", [finding.needed], width)
    return [*lines, *_field("try", finding.fix, width), *_field("source", [finding.source], width)]


def _clipped(words: str) -> str:
    """The words, cut where nobody reads on: a file from elsewhere may hold anything."""
    return words if len(words) <= _MOST_WORDS else f"{words[:_MOST_WORDS]}… ({len(words):,} characters)"


def _field(name: str, texts: Sequence[str], width: int) -> list[str]:
    """Lines beside one word, which stands at the first only."""
    first = " " * 4 + name.ljust(_FIELD)
    sentences = [_clipped(line) for text in texts for line in text.splitlines()]
    return [
        line
        for number, sentence in enumerate(sentences)
        for line in lay.wrapped(sentence, width, " " * len(first) if number else first, " " * len(first))
    ]
