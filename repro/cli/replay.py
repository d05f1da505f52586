"""`repro replay`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer
from repro.engine.contract import EngineName


@click.command()
@click.argument("what", default="", metavar="[RUN|BUNDLE]")
@click.option(
    "--step",
    "at_step",
    default=0,
    metavar="N",
    help="The dense step of the reference at or before N; default: the first step outside, or all.",
)
@click.option(
    "--env",
    "env",
    multiple=True,
    metavar="KEY=VALUE",
    help="Environment variable for the program, e.g. to pin a suspected cause.",
)
@click.option(
    "--engine",
    type=click.Choice(["docker", "inplace"]),
    default=None,
    envvar="REPRO_ENGINE",
    help="Default: as the run was run; docker for a bundle.",
)
@options.mounts
@options.gpus
@options.keys
@options.answers
def command(
    what: str,
    at_step: int,
    env: tuple[str, ...],
    engine: EngineName | None,
    mounts: tuple[str, ...],
    gpus: str,
    keys: tuple[Path, ...],
    answer: Answer,
) -> int:
    """Run single steps on this machine from the reference's stored states; compare module by module.

    With a RUN: under its conditions. With a BUNDLE (default: the newest): as a plain run here. Exit: 0 what
    arises first is rounding or nothing, 1 it is more than rounding, 6 nothing could be compared.
    """
    from repro import bundle as bundles
    from repro.errors import EXIT_INCONCLUSIVE, EXIT_NO, EXIT_YES, ReproError
    from repro.pipeline import signed
    from repro.pipeline.replay import replay_bundle, replay_run
    from repro.report.replay import replay_document, replay_text
    from repro.run import RunOptions

    if at_step < 0:
        raise click.UsageError(f"--step takes a step above 0, not `{at_step}`")
    wishes = RunOptions(env=options.pairs(env, "--env"), mounts=options.folders(mounts), gpus=gpus)
    sink = answer.console.sink
    try:
        run = bundles.find_run(what, Path.cwd())
    except ReproError:
        found = bundles.open_bundle(bundles.find_bundle(what, Path.cwd()))
        signed.admit(found.path, keys, sink)
        done = replay_bundle(found, engine or "docker", wishes, at_step, sink)
    else:
        if around := bundles.bundle_around(run):
            signed.admit(around, keys, sink)
        done = replay_run(run, engine, wishes, at_step, sink)
    document = {
        "path": str(done.folder),
        "steps": list(done.steps),
        "answer": done.answer,
        **replay_document(done.verdict),
    }
    answer.give(
        "replay",
        document,
        lambda: (
            f"{replay_text(done.verdict, done.answer, width=answer.width, colour=answer.colour)}\n"
            f"kept: {done.folder}"
        ),
    )
    return {"rounding": EXIT_YES, "beyond": EXIT_NO, "unknown": EXIT_INCONCLUSIVE}[done.answer]
