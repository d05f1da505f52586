"""`repro base`."""

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.group()
def command() -> None:
    """Base images: what a bundle's image starts from."""


@command.command()
@click.option("--python", required=True, metavar="X.Y", help="Python that the base image holds.")
@click.option("--mirror", default="", metavar="ADDRESS", help="Debian mirror, instead of the usual one.")
@options.answers
def create(python: str, mirror: str, answer: Answer) -> None:
    """Bootstrap `repro-base:X.Y` from Debian packages, byte for byte the same each time.

    Needs root and mmdebstrap.
    """
    from repro import image
    from repro.console import size
    from repro.engine.docker import DockerEngine
    from repro.events import step

    with step(answer.console.sink, "base") as shown:
        made = image.create_base(DockerEngine(), python, answer.console.sink, mirror)
        shown.detail = made.tags[0] if made.tags else made.id
    document = {"image": {"id": made.id, "tags": list(made.tags), "bytes": made.bytes}}
    answer.give("base create", document, f"{', '.join(made.tags)}  {made.id}  {size(made.bytes)}")
