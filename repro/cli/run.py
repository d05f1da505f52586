"""`repro run`."""

from pathlib import Path
from typing import Any

import click

from repro.cli import options
from repro.cli.answer import Answer
from repro.engine.contract import EngineName

_MOST_GB = 1e6


@click.command()
@click.argument("bundle", default="")
@options.engine
@click.option(
    "--host",
    default="",
    metavar="ssh://USER@BOX",
    help="Run on the engine of another machine: sends only missing layers, brings the record back.",
)
@click.option(
    "--attach", default="", metavar="RUN", help="With --host: follow a run that was left there, and fetch it."
)
@options.sets
@click.option("--label", default="", help="A short word to call this run by.")
@click.option("--order", default="", help="Order number of the rental; kept on this machine only.")
@click.option(
    "--env", "env", multiple=True, metavar="KEY=VALUE", help="Environment variable for the program; recorded."
)
@options.mounts
@options.gpus
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
@click.option(
    "--no-seed-checkpoint",
    "unseeded",
    is_flag=True,
    help="Start as the program does by itself, though the bundle has a seed checkpoint; recorded.",
)
@click.option(
    "--make-reference",
    is_flag=True,
    help="Make the bundle's reference: the whole run, its seed checkpoint, noise members, dense steps.",
)
@click.option("--members", default=3, show_default=True, metavar="N", help="Noise members of the reference.")
@click.option(
    "--dense",
    default="1,2,4,8,16",
    show_default=True,
    metavar="N,...",
    help="Steps of the reference that are recorded module by module, with the states they begin with.",
)
@click.option(
    "--reference-limit",
    "limit_gb",
    default=4.0,
    show_default=True,
    metavar="GB",
    help="Most that these states may take; above it only step 1 is dense.",
)
@click.option(
    "--against",
    default="",
    metavar="reference|RUN",
    help="16 steps first, and what they say; a replay if outside; then the training, watched.",
)
@click.option(
    "--stop-on",
    type=click.Choice(["never", "diverged", "beyond-rounding"]),
    default="never",
    show_default=True,
    help="With --against: end a run early that is doomed.",
)
@click.option("--repeat", "times", default=0, metavar="N", help="N runs of one label, a seed each.")
@click.option("--seeds", default="", metavar="A,B,...", help="Their seeds; default: the bundle's own and on.")
@click.option(
    "--prove-neutral",
    is_flag=True,
    help="Run it with and without the recorder, and show that what it writes is the same.",
)
@options.keys
@options.answers
def command(
    bundle: str,
    engine: EngineName,
    host: str,
    attach: str,
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
    keys: tuple[Path, ...],
    answer: Answer,
    **more: Any,
) -> int:
    """Run a bundle (default: the newest) under the recorder.

    Ends with metrics, peak memory and where things lie. After `--make-reference` every run starts from the
    seed checkpoint, and `--against reference` says within minutes whether this machine computes the same.
    """
    from repro import bundle as bundles
    from repro.cli.running import Asked, perform
    from repro.pipeline import signed
    from repro.run import RunOptions

    if not 0 < shm_gb < _MOST_GB:  # also false for nan
        raise click.UsageError(f"--shm-size takes GB above 0, not `{shm_gb}`")
    answer.console.output = not answer.console.quiet
    wishes = RunOptions(
        label=label,
        order=order,
        host=host,
        env=options.pairs(env, "--env"),
        gpus=gpus,
        network=network,
        mounts=options.folders(mounts),
        shm_bytes=int(shm_gb * (1 << 30)),
        snapshot_every=snapshot_every,
    )
    if attach and not host:
        raise click.UsageError("--attach needs --host, the machine that the run was left on")
    if host and engine != "docker":
        raise click.UsageError("--host names a container engine: it goes without --engine inplace")
    asked = Asked(engine=engine, options=wishes, sets=sets, out=out, attach=attach, **more)
    asked.check()
    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    signed.admit(found.path, keys, answer.console.sink)
    return perform(found, asked, answer)
