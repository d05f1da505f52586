"""`repro compare`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from repro.cli import options
from repro.cli.answer import Answer

if TYPE_CHECKING:
    from repro.model.verdict import Verdict

Pairs = list[tuple[Path, Path]]


@click.command()
@click.argument("reference")
@click.argument("others", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--allow",
    multiple=True,
    metavar="KEY",
    help="Let this part of the protocol differ, e.g. params.lr; the verdict says so.",
)
@click.option(
    "--members",
    multiple=True,
    metavar="RUN",
    help="Noise members of the first run, by path, id or label; default: those of its bundle.",
)
@click.option(
    "--dense",
    nargs=2,
    default=None,
    metavar="RUN RUN",
    help="Runs of single steps of both sides; default: of the bundle's reference, and of a replay.",
)
@click.option("--markdown", is_flag=True, help="Answer in Markdown.")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page with curves too, whole in one file; of several RUNs each has its part in it.",
)
@click.option("--explain", is_flag=True, help="Say all that is known of the cause instead.")
@click.option(
    "--save", is_flag=True, help="Keep the verdict beside the compared run, as verdict-<reference>.json."
)
@options.answers
def command(
    reference: str,
    others: tuple[str, ...],
    allow: tuple[str, ...],
    members: tuple[str, ...],
    dense: tuple[str, str] | None,
    markdown: bool,
    page: Path | None,
    explain: bool,
    save: bool,
    answer: Answer,
) -> int:
    """Compare runs with the first one: a verdict, the first signal and step that differ, and the conditions.

    RUN is a folder, the start of a run's id, or its label. A label that several runs share, or names with
    commas between, stand for a group: one verdict for the group, with statistics. Exit: 0 identical or
    equivalent, 1 diverged, 6 inconclusive, 7 incomparable or incomplete.
    """
    from repro import bundle as bundles
    from repro import compare as judges
    from repro import report
    from repro.cli.answer import print_json
    from repro.files import write_whole
    from repro.model import canonical
    from repro.pipeline.compare import compare_groups, verdict_file

    if dense and len(others) > 1:
        raise click.UsageError("--dense names the single steps of one RUN: compare the others apart")
    here = Path.cwd()
    found = [bundles.find_group(word, here) for word in others]
    base = bundles.find_beside(reference, found[0][0], here)
    beside = [path for word in members for path in bundles.find_group(word, here)]
    steps = (bundles.find_run(dense[0], here), bundles.find_run(dense[1], here)) if dense else None
    verdicts = [compare_groups(base, group, allow, members=beside, dense=steps) for group in found]
    documents = [report.document(verdict) for verdict in verdicts]
    if save:
        for group, document in zip(found, documents, strict=True):
            write_whole(verdict_file(group[0], base[0]), canonical.pretty(document))
    pairs = [(base[0], group[0]) for group in found]
    if page:
        _write_page(page, verdicts, pairs, answer)
    if answer.as_json:
        print_json(
            documents[0]
            if len(documents) == 1
            else {"schema": 1, "command": "compare", "comparisons": documents}
        )
    elif explain:
        print("\n\n".join(report.explained(v, width=answer.width, colour=answer.colour) for v in verdicts))
    else:
        print("\n\n".join(_form(v, pair, markdown, answer) for v, pair in zip(verdicts, pairs, strict=True)))
    return max(judges.exit_status(verdict.verdict) for verdict in verdicts)


def _form(verdict: "Verdict", pair: tuple[Path, Path], markdown: bool, answer: Answer) -> str:
    from repro import report
    from repro.pipeline.curves import usage_of

    used = usage_of(*pair)
    if markdown:
        return report.markdown(verdict, used)
    return report.text(verdict, used, width=answer.width, colour=answer.colour)


def _write_page(file: Path, verdicts: "list[Verdict]", pairs: Pairs, answer: Answer) -> None:
    from repro import report
    from repro.console import size
    from repro.events import step
    from repro.files import write_whole
    from repro.pipeline.curves import curves_of

    with step(answer.console.sink, "page") as shown:
        drawn = [curves_of(*pair) for pair in pairs]
        text = report.html_of(list(zip(verdicts, drawn, strict=True)))
        write_whole(file, text.encode())
        shown.detail = f"{file}, {size(len(text.encode()))}"
