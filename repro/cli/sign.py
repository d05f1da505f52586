"""`repro sign`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("bundle", default="")
@click.option(
    "--key",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Ed25519 private key, PEM, to sign with.",
)
@click.option(
    "--new-key",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Make such a key, mode 0600, and FILE.pub for whoever checks; sign nothing.",
)
@options.answers
def command(bundle: str, key: Path | None, new_key: Path | None, answer: Answer) -> None:
    """Sign a bundle (default: the newest): its manifest, with every file's digest, and its image.

    Writes `signature.json` beside the manifest, a DSSE envelope with an in-toto statement (SLSA provenance).
    Several may sign one bundle.
    """
    if (key is None) == (new_key is None):
        raise click.UsageError("either --key FILE, to sign with, or --new-key FILE, to make one")
    if new_key is not None:
        if bundle:
            raise click.UsageError("--new-key signs nothing: leave the bundle out, then sign it with --key")
        _make(new_key, answer)
    elif key is not None:
        _sign(bundle, key, answer)


def _make(path: Path, answer: Answer) -> None:
    from repro import trust

    public, key_id = trust.make_key(path)
    text = (
        f"key {key_id[: trust.SHOWN]}\n  private  {path}      (keep it; mode 0600)\n"
        f"  public   {public}\n\nnext: repro sign BUNDLE --key {path}"
    )
    answer.give("sign", {"key": {"id": key_id, "private": str(path), "public": str(public)}}, text)


def _sign(word: str, key: Path, answer: Answer) -> None:
    from repro import bundle as bundles
    from repro import trust
    from repro.pipeline.signed import sign

    found = bundles.open_bundle(bundles.find_bundle(word, Path.cwd()))
    made = sign(found, key, answer.console.sink)
    document = {
        "bundle": {"id": found.manifest.id, "path": str(found.path)},
        "key": {"id": made.key},
        "signature": str(made.path),
    }
    text = (
        f"{found.title} is signed by {made.key[: trust.SHOWN]}\n  {made.path}\n\n"
        f"next: repro verify {found.path} --key {key}.pub"
    )
    answer.give("sign", document, text)
