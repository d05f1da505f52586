"""`repro pull`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("reference")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for bundles; default the nearest `.repro`, else a new one in this folder.",
)
@click.option("--no-load", is_flag=True, help="Fetch the bundle alone, and not its image.")
@options.insecure
@options.keys
@options.answers
def command(
    reference: str, out: Path | None, no_load: bool, insecure: bool, keys: tuple[Path, ...], answer: Answer
) -> None:
    """Fetch a bundle and its image from a registry, by what `repro push` printed.

    Without a tag, the only bundle of the repository is meant. Everything is held against its digest and the
    bundle's manifest; layers that the engine has are not fetched. A pull that was cut goes on
    where it stopped.
    """
    from repro.pipeline.pull import PullOptions, pull

    wish = PullOptions(out=out, load=not no_load, insecure=insecure, keys=keys)
    made = pull(reference, wish, answer.console.sink)
    document = {
        "bundle": {"id": made.bundle.manifest.id, "path": str(made.bundle.path)},
        "reference": made.reference,
        "digest": made.digest,
        "cached": made.cached,
        "image": made.image,
    }
    image = f"image {made.image.tag}" if made.image else "no image loaded"
    rows = [f"{made.bundle.path}{'  (was there)' if made.cached else ''}", f"  {made.bundle.title}, {image}"]
    answer.give("pull", document, "\n".join([*rows, "", f"next: repro run {made.bundle.path}"]))
