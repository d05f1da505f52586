"""Changes of behaviour between versions of torch: what makes results differ, and how to pin it."""

import re
from functools import cache

import msgspec

from repro.model.record import Record
from repro.tables.read import table


class Change(Record, kw_only=True):
    """One change.

    Attributes:
        since, until: first version where it holds, and first where it no longer does (empty: it still holds).
        kind: `values`, `order`, `error`, `memory`, `api`, joined by `+` where several fit.
        applies_to: `any`, or a condition on compute capability or CUDA: `cc>=8.0`, `cc in 9.0, 10.0`,
            `cuda>=10.2`.
        pin: how to get or avoid the behaviour; `check`: what to record; `evidence`: how sure it is.
    """

    id: str
    since: str
    kind: str
    applies_to: str
    what: str
    evidence: str
    source: str
    until: str = ""
    pin: str = ""
    check: str = ""


@cache
def changes() -> dict[str, Change]:
    """All changes by their ids, in the order of the table."""
    rows = msgspec.convert(table("numerics_changes")["change"], list[Change])
    return {row.id: row for row in rows}


def between(a: str, b: str, capability: str = "", cuda: str = "") -> list[Change]:
    """Changes that hold in one of two torch versions and not in the other, where they apply.

    An unknown capability or CUDA version (empty) excludes nothing; a version that is none gives no change.
    """
    first, second = _key(a), _key(b)
    if not first or not second:
        return []
    return [row for row in changes().values()
            if _holds(row, first) != _holds(row, second) and applies(row, capability, cuda)]  # fmt: skip


def applies(change: Change, capability: str = "", cuda: str = "") -> bool:
    """Whether a change concerns a card's capability and a build's CUDA; what is empty excludes nothing."""
    found = re.fullmatch(r"(cc|cuda)(>=|==| in )(.+)", change.applies_to)
    if found is None:
        return True
    have = _key(capability if found[1] == "cc" else cuda)
    if not have:
        return True
    named = [_key(version) for version in found[3].split(",")]
    return have >= named[0] if found[2] == ">=" else have in named


def _holds(change: Change, version: tuple[int, ...]) -> bool:
    return _key(change.since) <= version and not (change.until and _key(change.until) <= version)


def _key(version: str) -> tuple[int, ...]:
    """Numbers of a release, three for a torch version; empty when it is none."""
    found = re.match(r"\s*(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()
