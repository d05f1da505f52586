"""`repro image`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.group()
def command() -> None:
    """Images: hold one against its bundle."""


@command.command()
@click.argument("bundle", default="")
@click.option(
    "--image", "reference", default="", metavar="REF", help="Another image than the bundle's own name."
)
@options.answers
def verify(bundle: str, reference: str, answer: Answer) -> None:
    """Hold every file of an image, however it was built, against a bundle (default: the newest).

    Compiled bytecode and file times are left out: `docker build` makes them anew each time. Exit 1 when
    anything differs.
    """
    from repro import bundle as bundles
    from repro.engine.docker import DockerEngine
    from repro.pipeline.imageverify import verify_image

    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    held = verify_image(found, reference, DockerEngine(), answer.console.sink)
    document = {
        "bundle": {"id": found.manifest.id, "path": str(found.path)},
        "image": {"id": held.image.id, "tags": list(held.image.tags)},
        "same_image": held.same_image,
        "tree_digest": held.tree,
        "files": held.files,
    }
    which = "the bundle's own image" if held.same_image else "built another way, with the same files"
    answer.give(
        "image verify", document, f"{found.title}: {held.files} files as the bundle names them; {which}"
    )
