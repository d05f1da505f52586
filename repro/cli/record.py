"""`repro record`."""

from pathlib import Path

import click


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the run.",
)
@click.option("--label", default="", help="A short word to call this run by.")
@click.option(
    "--params",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File whose values are the parameters of this run.",
)
@click.option(
    "--snapshot-every",
    default=0,
    metavar="N",
    help="Fingerprint the state every N steps beside the usual ones.",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND ...")
def command(out: Path, label: str, params: Path | None, snapshot_every: int, words: tuple[str, ...]) -> int:
    """Run COMMAND on this machine under the recorder, with no container and no bundle.

    DIR is then a run that `repro show` and `repro compare` take.
    """
    from repro.pipeline.record import record

    return record(list(words), out, label=label, params=params, snapshot_every=snapshot_every)
