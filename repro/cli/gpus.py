"""`repro gpus`."""

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("name", nargs=-1)
@options.answers
def command(name: tuple[str, ...], answer: Answer) -> None:
    """List the cards of the table, or show the one that a NAME means, in any spelling.

    \b
      repro gpus A100-80GB
      repro gpus "NVIDIA H100 80GB HBM3"
      repro gpus "Some New Card (9.0)"     decided by its compute capability
    """  # noqa: D301 - a real backspace: it keeps the lines that follow as they are
    from repro.report import gpus as report
    from repro.tables import gpus

    if not name:
        cards = gpus.all_gpus()
        answer.give("gpus", report.list_document(cards), lambda: report.list_text(cards))
        return
    card = gpus.gpu_for(" ".join(name))
    products = gpus.members(card) if card.stands_for else ()
    answer.give("gpus", report.card_document(card, products), lambda: report.card_text(card, products))
