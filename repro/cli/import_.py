"""`repro import`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for bundles; default the nearest `.repro`, else a new one in this folder.",
)
@click.option("--no-load", is_flag=True, help="Do not load the image into the engine; its layers are kept.")
@options.keys
@options.answers
def command(file: Path, out: Path | None, no_load: bool, keys: tuple[Path, ...], answer: Answer) -> None:
    """Take a bundle, and its image, out of a file that `repro export` made.

    All of the file is read and held against the bundle's manifest before anything is written or loaded.
    """
    from repro.pipeline.import_ import ImportOptions, import_

    made = import_(file, ImportOptions(out=out, load=not no_load, keys=keys), answer.console.sink)
    document = {
        "bundle": {"id": made.bundle.manifest.id, "path": str(made.bundle.path)},
        "cached": made.cached,
        "image": made.image,
        "left_out": sorted(made.left_out),
    }
    image = f"image {made.image.tag}" if made.image else "no image loaded"
    rows = [f"{made.bundle.path}", f"  {made.bundle.title}, {image}"]
    if made.left_out:
        rows.append(f"  thin: {len(made.left_out)} wheels and base layers were left out")
    answer.give("import", document, "\n".join([*rows, "", f"next: repro run {made.bundle.path}"]))
