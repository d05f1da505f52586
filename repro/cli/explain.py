"""`repro explain`."""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from repro.cli import options
from repro.cli.answer import Answer
from repro.errors import Kind, kinds

if TYPE_CHECKING:
    from repro.check.finding import RuleRow


@click.command()
@click.argument("code", default="")
@options.answers
def command(code: str, answer: Answer) -> None:
    """Explain the code of an error, or of a finding of `repro check`; without one, list them all."""
    from repro.check.finding import rule_rows

    table: dict[str, Kind | RuleRow] = {**rule_rows(), **kinds()}
    if not code:
        rows = {name: _line(table[name]) for name in sorted(table)}
        answer.give(
            "explain", {"codes": rows}, "\n".join(f"{name:<28} {text}" for name, text in rows.items())
        )
        return
    if code not in table:
        near = get_close_matches(code, table, n=3)
        raise click.UsageError(
            f"no error and no finding has the code `{code}`." + (f" Near: {', '.join(near)}" if near else "")
        )
    row = table[code]
    answer.give("explain", *(_error(row) if isinstance(row, Kind) else _rule(row)))


def _line(row: "Kind | RuleRow") -> str:
    if isinstance(row, Kind):
        return row.explain.split(". ")[0].replace("\n", " ")
    return f"{row.severity}: {row.title}"


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
