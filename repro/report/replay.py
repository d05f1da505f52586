"""Replayed steps as a person reads them: where the difference arises first, then the modules."""

from typing import Any

import msgspec

from repro.model.verdict import ModuleRow, Verdict
from repro.report import growth, lay
from repro.report.lay import Paint
from repro.report.words import tone

_TOP = {
    "rounding": "rounding: what arises in these steps is no more than rounding makes, or nothing",
    "beyond": "beyond rounding: a difference arises that rounding does not explain",
    "unknown": "unknown: no module of these steps could be compared",
}


def replay_document(verdict: Verdict) -> dict[str, Any]:
    """The keys of `repro replay --json` beside its answer; rows that are equal are counted, not listed."""
    found = verdict.replay
    if found is None:
        return {"origin": None, "rows": [], "equal": 0, "notes": []}
    return {
        "origin": _row(found.origin) if found.origin else None,
        "rows": [_row(row) for row in found.rows if row.kind != "equal"],
        "equal": sum(row.kind == "equal" for row in found.rows),
        "notes": list(found.notes),
    }


def replay_text(verdict: Verdict, answer: str, *, width: int = 80, colour: bool = False) -> str:
    """The answer (`rounding`, `beyond`, `unknown`) on top, then where differences arise, and why."""
    paint = Paint(colour)
    section = growth.modules(verdict)
    word, _, rest = _TOP[answer].partition(":")
    lines = [f"{paint(tone(f'{answer}-rounding' if answer == 'beyond' else answer), word)}:{rest}"]
    lines += lay.points(section.said, width)
    if section.rows:
        titles = tuple(column.title for column in section.columns)
        lines += ["", *lay.columns([titles, *section.rows], right=(4, 5, 6))]
    if section.folded:
        lines += ["", f"  and {section.folding}"]
    return "\n".join(lines)


def _row(row: ModuleRow) -> dict[str, Any]:
    told = msgspec.to_builtins(row)
    return {("class" if key == "class_" else key): value for key, value in told.items()}
