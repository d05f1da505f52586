"""`repro compare`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("reference")
@click.argument("others", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--allow",
    multiple=True,
    metavar="KEY",
    help="Let this part of the protocol differ, e.g. params.lr; the verdict says so.",
)
@click.option("--markdown", is_flag=True, help="Answer in Markdown.")
@click.option(
    "--save", is_flag=True, help="Keep the verdict beside the compared run, as verdict-<reference>.json."
)
@options.answers
def command(
    reference: str,
    others: tuple[str, ...],
    allow: tuple[str, ...],
    markdown: bool,
    save: bool,
    answer: Answer,
) -> int:
    """Compare runs with the first one: a verdict, the first signal and step that differ, and the conditions.

    RUN is a folder, the start of a run's id, or its label. Exit: 0 identical or equivalent, 1 diverged, 6
    inconclusive, 7 incomparable or incomplete.
    """
    from repro import bundle as bundles
    from repro import compare as judges
    from repro import report
    from repro.cli.answer import print_json
    from repro.files import write_whole
    from repro.model import canonical
    from repro.pipeline.compare import compare

    base = bundles.find_run(reference, Path.cwd())
    found = [bundles.find_run(word, Path.cwd()) for word in others]
    verdicts = [compare(base, path, allow) for path in found]
    documents = [report.document(verdict) for verdict in verdicts]
    if save:
        for path, document in zip(found, documents, strict=True):
            write_whole(path / f"verdict-{base.name}.json", canonical.pretty(document))
    if answer.as_json:
        print_json(
            documents[0]
            if len(documents) == 1
            else {"schema": 1, "command": "compare", "comparisons": documents}
        )
    else:
        show = (
            report.markdown
            if markdown
            else lambda v: report.text(v, width=answer.width, colour=answer.colour)
        )
        print("\n\n".join(show(verdict) for verdict in verdicts))
    return max(judges.exit_status(verdict.verdict) for verdict in verdicts)
