"""Which findings of a check a person is told, and which belong together; the JSON document has all."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from repro.model.check import Finding, TargetReport

SEVERITIES = ("error", "unknown", "warning", "note")  # worst first
# Codes of the lock, with the rules that say the same of the same lines.
_SAME = {
    "build-needs-torch": ("build-needs-torch",),
    "cuda-extension": ("cuda-extension", "cpp-extension"),
    "cuda-jit": ("jit-extension", "jit-extension-cache"),
    "cuda-source": ("cuda-source",),
    "hard-coded-arch": ("hard-coded-arch", "hard-coded-arch-jit", "hard-coded-arch-script"),
}


@dataclass(frozen=True)
class Together:
    """Findings that differ in place, and in what was found there, alone."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The finding that stands for all."""
        return self.findings[0]


def is_of_lock(finding: Finding) -> bool:
    """Whether the lock said it, not a rule."""
    return finding.rule.startswith("lock-")


def code_of(finding: Finding) -> str:
    """The code that a person looks for: of what the lock said, the lock's own."""
    return finding.found.partition(":")[0] if is_of_lock(finding) else finding.rule


def once(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that another, at least as severe, says of the same lines."""
    locked = [f for f in findings if is_of_lock(f)]
    ruled = [f for f in findings if not is_of_lock(f)]
    dropped = set()
    for said in locked:
        for rule in (f for f in ruled if f.rule in _SAME.get(code_of(said), ()) and _overlap(said, f)):
            less = said if _rank(rule) <= _rank(said) else rule
            dropped.add(id(less))
    return [f for f in findings if id(f) not in dropped]


def together(findings: Iterable[Finding]) -> list[Together]:
    """Worst first, and what rules found before what the lock said.

    What one reason and one fix answer stands together; of notes, all with one reason.
    """
    ordered = sorted(findings, key=lambda f: (_rank(f), is_of_lock(f)))
    found: dict[object, list[Finding]] = {}
    for f in ordered:
        found.setdefault(_key(f), []).append(f)
    return [Together(tuple(group)) for group in found.values()]


def shared(targets: Sequence[TargetReport]) -> list[Finding]:
    """What holds on every target; a note that has another value on each stands there without the value."""
    first, *rest = [{_mark(f): f for f in target.findings} for target in targets]
    held = [f for mark, f in first.items() if all(mark in other for other in rest)]
    return [f if _alike(f, rest) else msgspec.structs.replace(f, found="") for f in held]


def groups(
    targets: Sequence[TargetReport], held: Sequence[Finding]
) -> list[tuple[list[TargetReport], list[Finding]]]:
    """Targets of which the same is said, with what is said of them beside what holds on all."""
    marks = {_mark(f) for f in held}
    found: dict[bytes, tuple[list[TargetReport], list[Finding]]] = {}
    for target in targets:
        own = [f for f in target.findings if _mark(f) not in marks]
        key = msgspec.json.encode((target.verdict, [_seen(f) for f in own], target.files))
        found.setdefault(key, ([], own))[0].append(target)
    return list(found.values())


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _mark(finding: Finding) -> tuple[str, ...]:
    value = "" if finding.severity == "note" else f"{finding.found}\n{finding.needed}\n{finding.fix}"
    return finding.rule, finding.where, finding.why, value


def _seen(finding: Finding) -> Finding:
    """What a reader sees of it: a note's need and fix are not shown."""
    return msgspec.structs.replace(finding, needed="", fix=[]) if finding.severity == "note" else finding


def _alike(finding: Finding, others: Iterable[dict[tuple[str, ...], Finding]]) -> bool:
    return all(other[_mark(finding)] == finding for other in others)


def _key(finding: Finding) -> object:
    if is_of_lock(finding) and finding.severity != "error":
        return finding.rule
    if finding.severity == "note":
        return finding.rule, finding.why
    return finding.rule, finding.why, finding.needed, tuple(finding.fix), finding.source


def _overlap(a: Finding, b: Finding) -> bool:
    (file, lines), (other, more) = _lines(a.where), _lines(b.where)
    return file == other and (not lines or not more or bool(lines & more))


def _lines(where: str) -> tuple[str, set[int]]:
    """A place as file and lines: `setup.py:2-4,8`."""
    match = re.fullmatch(r"(.+):(\d[\d,-]*)", where)
    if match is None:
        return where, set()
    found: set[int] = set()
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return match[1], found
