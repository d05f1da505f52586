"""`repro explain`."""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from repro.cli import options
from repro.cli.answer import Answer
from repro.errors import Kind, kinds

if TYPE_CHECKING:
    from repro.check.finding import RuleRow
    from repro.compare.causes.rules import Rule

Causes = tuple["Rule", ...]


@click.command()
@click.argument("code", default="")
@options.answers
def command(code: str, answer: Answer) -> None:
    """Explain the code of an error, a finding of `repro check` or a cause; without one, list them all."""
    from repro.check.finding import rule_rows

    table: dict[str, Kind | RuleRow | Causes] = {**_causes(), **rule_rows(), **kinds()}
    if not code:
        rows = {name: _line(table[name]) for name in sorted(table)}
        answer.give(
            "explain", {"codes": rows}, "\n".join(f"{name:<28} {text}" for name, text in rows.items())
        )
        return
    if code not in table:
        near = get_close_matches(code, table, n=3)
        raise click.UsageError(
            f"no error, no finding and no cause has the code `{code}`."
            + (f" Near: {', '.join(near)}" if near else "")
        )
    row = table[code]
    answer.give("explain", *_told(row))


def _told(row: "Kind | RuleRow | Causes") -> tuple[dict[str, Any], str]:
    if isinstance(row, Kind):
        return _error(row)
    return _cause(row) if isinstance(row, tuple) else _rule(row)


def _line(row: "Kind | RuleRow | Causes") -> str:
    if isinstance(row, Kind):
        return row.explain.split(". ")[0].replace("\n", " ")
    return f"cause: {row[0].why}" if isinstance(row, tuple) else f"{row.severity}: {row.title}"


def _causes() -> "dict[str, Causes]":
    """The rules of each cause that `repro compare` can name."""
    from repro.compare.causes.rules import rules

    found: dict[str, Causes] = {}
    for rule in rules():
        found[rule.code] = (*found.get(rule.code, ()), rule)
    return found


def _cause(rows: "Causes") -> tuple[dict[str, Any], str]:
    names = "NAME"
    ways = [
        {
            "first": row.first,
            "why": row.why.format(names=names),
            "pin": row.pin.format(names=names),
            "source": row.source,
        }
        for row in rows
    ]
    parts = [
        f"when {' or '.join(way['first']) or 'any signal'} differs first:\n"
        f"  {way['why']}\n  pin: {way['pin']}\n  source: {way['source']}"
        for way in ways
    ]
    head = f"{rows[0].code}  (a cause that `repro compare` can name)"
    return {"code": rows[0].code, "causes": ways}, "\n\n".join([head, *parts])


def _error(row: Kind) -> tuple[dict[str, Any], str]:
    document = {"code": row.code, "exit": row.exit, "explain": row.explain}
    return document, f"{row.code}  (exit status {row.exit})\n\n{row.explain}"


def _rule(row: "RuleRow") -> tuple[dict[str, Any], str]:
    document = {
        "code": row.code,
        "severity": row.severity,
        "verdict": row.outcome,
        "title": row.title,
        "explain": row.explain,
        "source": row.source,
    }
    head = f"{row.code}  ({row.severity}; the best verdict beside it is {row.outcome})"
    return document, f"{head}\n{row.title}\n\n{row.explain}\n\nsource: {row.source}"
