"""`repro verify`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("bundle", default="")
@options.answers
def command(bundle: str, answer: Answer) -> None:
    """Hold every file of a bundle (default: the newest) against its manifest, and its seed checkpoint.

    Exit 1 when anything differs.
    """
    from repro import bundle as bundles
    from repro.pipeline.ready import damaged

    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    damage = bundles.verify(found, answer.console.sink)
    if damage:
        raise damaged(found, damage)
    seed = bundles.seed_of(found.path, found.manifest.id)
    bundles.reference_of(found.path)
    document = {
        "bundle": {"id": found.manifest.id, "path": str(found.path)},
        "files": len(found.manifest.files),
        "damage": [],
        "seed_checkpoint": str(seed) if seed else None,
    }
    answer.give("verify", document, f"{found.title}: all {len(found.manifest.files)} files are as packed")
