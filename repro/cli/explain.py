"""`repro explain`."""

from difflib import get_close_matches

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("code", default="")
@options.answers
def command(code: str, answer: Answer) -> None:
    """Explain an error code; without one, list them all."""
    from repro.errors import kinds

    table = kinds()
    if not code:
        rows = {name: table[name].explain.split(". ")[0].replace("\n", " ") for name in sorted(table)}
        answer.give(
            "explain", {"codes": rows}, "\n".join(f"{name:<28} {text}" for name, text in rows.items())
        )
        return
    if code not in table:
        near = get_close_matches(code, table, n=3)
        raise click.UsageError(
            f"no error has the code `{code}`." + (f" Near: {', '.join(near)}" if near else "")
        )
    kind = table[code]
    answer.give(
        "explain",
        {"code": code, "exit": kind.exit, "explain": kind.explain},
        f"{code}  (exit status {kind.exit})\n\n{kind.explain}",
    )
