"""`repro verify`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("bundle", default="")
@options.keys
@options.answers
def command(bundle: str, keys: tuple[Path, ...], answer: Answer) -> None:
    """Hold every file of a bundle (default: the newest) against its manifest, and its seed checkpoint.

    With `--key` the manifest against its signature too. Exit 1 when anything differs.
    """
    from repro import bundle as bundles
    from repro.pipeline import signed
    from repro.pipeline.ready import damaged

    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    damage = bundles.verify(found, answer.console.sink)
    if damage:
        raise damaged(found, damage)
    stands = signed.standing(found.path, keys)
    absent = bundles.left_out(found.path)
    seed = bundles.seed_of(found.path, found.manifest.id)
    bundles.reference_of(found.path)
    document = {
        "bundle": {"id": found.manifest.id, "path": str(found.path)},
        "files": len(found.manifest.files),
        "damage": [],
        "left_out": sorted(absent),
        "seed_checkpoint": str(seed) if seed else None,
        "signature": {"claimed": stands.claimed, "checked": stands.checked},
    }
    thin = f", {len(absent)} wheels and base layers were left out on the way here" if absent else ""
    count = len(found.manifest.files) - len(absent)
    text = f"{found.title}: all {count} files are as packed{thin}\n{found.title}: {stands.word}"
    answer.give("verify", document, text)
