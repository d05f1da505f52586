"""`repro export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from repro.cli import options
from repro.cli.answer import Answer

if TYPE_CHECKING:
    from repro.bundle import Bundle


@click.command()
@click.argument("bundle", default="")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="File, or folder for it; default NAME-ID12.repro beside the bundle.",
)
@click.option("--no-image", is_flag=True, help="Leave the image out: for a pod that installs the wheels.")
@click.option("--with-runs", is_flag=True, help="Pack the runs too.")
@click.option(
    "--thin",
    default="",
    metavar="TARGET",
    help="Leave out wheels, and what TARGET has of the image: an engine's address (ssh://USER@HOST), or an "
    "earlier exported file that was imported there.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["repro", "ro-crate"]),
    default="repro",
    show_default=True,
    help="One file for `repro import`, or a folder for an archive of research data.",
)
@options.answers
def command(
    bundle: str,
    out: Path | None,
    no_image: bool,
    with_runs: bool,
    thin: str,
    kind: Literal["repro", "ro-crate"],
    answer: Answer,
) -> None:
    """Write a bundle (default: the newest) with its image into one file.

    The file is a plain tar: where `repro` is not installed, `tar xf` gives the bundle's folder. Seed
    checkpoint, reference and signature go along; runs with `--with-runs`.
    """
    from repro import bundle as bundles

    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    if thin and no_image:
        raise click.UsageError("--thin leaves out layers of the image: --no-image leaves none")
    if kind == "ro-crate":
        if no_image or with_runs or thin:
            raise click.UsageError("--format ro-crate takes -o FOLDER alone: it has all runs and no image")
        _crate(found, out, answer)
        return
    _file(found, out, answer, image=not no_image, runs=with_runs, thin=thin)


def _file(found: "Bundle", out: Path | None, answer: Answer, *, image: bool, runs: bool, thin: str) -> None:
    from repro.console import size
    from repro.pipeline.export import ExportOptions, export

    made = export(found, ExportOptions(out=out, image=image, runs=runs, thin=thin), answer.console.sink)
    left = made.record.image.left_out if made.record.image else []
    document = {
        "bundle": {"id": found.manifest.id, "path": str(found.path)},
        "path": str(made.path),
        "bytes": made.bytes,
        "sha256": made.sha256,
        "image": made.record.image,
        "left_out": {"layers": left, "files": made.record.left_out},
        "beside": [entry.path for entry in made.record.beside],
    }
    rows = [f"{made.path}  {size(made.bytes)}", f"  sha256   {made.sha256}"]
    if left or made.record.left_out:
        rows.append(
            f"  left out {len(left)} layers of the image, {len(made.record.left_out)} wheels and base layers"
        )
    rows += ["", f"next: repro import {made.path.name}      (on the machine that gets it)"]
    answer.give("export", document, "\n".join(rows))


def _crate(found: "Bundle", out: Path | None, answer: Answer) -> None:
    from repro.pipeline.crate import export_crate

    made = export_crate(found, out or Path.cwd() / f"{found.path.name}.crate", answer.console.sink)
    document = {"bundle": {"id": found.manifest.id, "path": str(found.path)}, "path": str(made)}
    answer.give("export", document, str(made))
