"""`repro run`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer
from repro.engine.contract import EngineName

_MOST_GB = 1e6


@click.command()
@click.argument("bundle", default="")
@options.engine
@options.sets
@click.option("--label", default="", help="A short word to call this run by.")
@click.option("--order", default="", help="Order number of the rental; kept on this machine only.")
@click.option(
    "--env", "env", multiple=True, metavar="KEY=VALUE", help="Environment variable for the program; recorded."
)
@click.option(
    "--mount",
    "mounts",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Show a host folder as NAME in the program's working folder, read-only.",
)
@click.option(
    "--gpus",
    default="none",
    show_default=True,
    metavar="none|all|IDS",
    help="Cards for the container: all, or indices or UUIDs with commas.",
)
@click.option("--network", is_flag=True, help="Let the program reach the network; default is no network.")
@click.option(
    "--shm-size",
    "shm_gb",
    default=8.0,
    show_default=True,
    metavar="GB",
    help="Size of /dev/shm, for DataLoader workers.",
)
@click.option(
    "--snapshot-every",
    default=0,
    metavar="N",
    help="Fingerprint the state every N steps beside the usual ones.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for runs; default `runs` in the bundle.",
)
@options.answers
def command(
    bundle: str,
    engine: EngineName,
    sets: tuple[str, ...],
    label: str,
    order: str,
    env: tuple[str, ...],
    mounts: tuple[str, ...],
    gpus: str,
    network: bool,
    shm_gb: float,
    snapshot_every: int,
    out: Path | None,
    answer: Answer,
) -> None:
    """Run a bundle (default: the newest) under the recorder.

    Ends with metrics, peak memory and where things lie.
    """
    from repro import bundle as bundles
    from repro import report
    from repro.pipeline.compare import side
    from repro.pipeline.run import run
    from repro.run import RunOptions

    if not 0 < shm_gb < _MOST_GB:  # also false for nan
        raise click.UsageError(f"--shm-size takes GB above 0, not `{shm_gb}`")
    answer.console.output = not answer.console.quiet
    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    wishes = RunOptions(
        label=label,
        order=order,
        env=options.pairs(env, "--env"),
        gpus=gpus,
        network=network,
        mounts={k: Path(v) for k, v in options.pairs(mounts, "--mount").items()},
        shm_bytes=int(shm_gb * (1 << 30)),
        snapshot_every=snapshot_every,
    )
    ended = run(found, engine, wishes, answer.console.sink, sets=sets, out=out)
    read = side(ended.folder)
    answer.give(
        "run", report.run_document(read.run, read.traces), lambda: report.run_text(read.run, read.traces)
    )
