"""A finding gets its severity, and its default reason and source, from its row in `data/rules/`."""

from dataclasses import dataclass
from functools import cache
from typing import cast

from repro.model.check import Finding, Fit, Severity
from repro.tables.read import folder


@dataclass(frozen=True)
class RuleRow:
    """One row: what a rule looks at and what its finding means for the verdict.

    Attributes:
        severity: of its findings; outcome: the best verdict that a target with such a finding can have.
        title: a line for lists; explain: for `repro explain`; source: the outside fact it rests on.
    """

    code: str
    severity: Severity
    outcome: Fit
    title: str
    explain: str
    source: str


@cache
def rule_rows() -> dict[str, RuleRow]:
    """Every rule by its code."""
    return {
        code: RuleRow(
            code=code,
            severity=cast("Severity", row["severity"]),
            outcome=cast("Fit", row["outcome"]),
            title=row["title"],
            explain=row["explain"].strip(),
            source=row["source"],
        )
        for code, row in folder("rules").items()
    }


def finding(
    code: str,
    found: str,
    *,
    needed: str = "",
    why: str = "",
    fix: list[str] | tuple[str, ...] | str = (),
    source: str = "",
    where: str = "",
) -> Finding:
    """A finding of the rule `code`: `why` defaults to the rule's title, `source` to the rule's source."""
    row = rule_rows()[code]
    return Finding(
        rule=code,
        severity=row.severity,
        found=found,
        needed=needed,
        why=why or row.title,
        fix=[fix] if isinstance(fix, str) else list(fix),
        source=source or row.source,
        where=where,
    )
