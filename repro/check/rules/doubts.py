"""What the lock said of the dependency files, beside what the rules find."""

from collections.abc import Iterator

from repro.check.finding import finding
from repro.model.check import Doubt, Finding, Stack, Target


def of_lock(stack: Stack, _target: Target) -> Iterator[Finding]:
    """One finding for each doubt; the lock's own code stands before the colon."""
    for doubt in stack.doubts:
        yield _told(doubt)


def _told(doubt: Doubt) -> Finding:
    found = f"{doubt.code}: {doubt.text}"
    if doubt.severity == "error":
        return finding("lock-error", found, fix=doubt.remedy or (), where=doubt.where)
    if doubt.severity == "note":
        return finding("lock-note", found, fix=doubt.remedy or (), where=doubt.where)
    return finding("lock-warning", found, fix=doubt.remedy or (), where=doubt.where)
