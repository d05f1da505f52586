"""`repro record`."""

from pathlib import Path
from typing import Any

import click

from repro.cli import options


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
@click.option(
    "--seed-state",
    "seed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Start from these weights: a file of --save-state.",
)
@click.option(
    "--save-state", "save", metavar="N,...", help="Keep the state after these steps; 0 is the first."
)
@click.option(
    "--perturb",
    type=click.IntRange(1),
    metavar="M",
    help="A noise member: then move every weight by at most one unit in the last place, seed M.",
)
@click.option("--stop-after", "stop", default=0, metavar="N", help="End the program after N steps.")
@click.option("--dense", metavar="N,...", help="Record these steps module by module.")
@click.option(
    "--sync",
    "states",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Begin each dense step N with DIR/step-(N-1).safetensors: a replay.",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND ...")
def command(
    out: Path,
    label: str,
    params: Path | None,
    snapshot_every: int,
    words: tuple[str, ...],
    save: str | None,
    dense: str | None,
    **plan: Any,
) -> int:
    """Run COMMAND on this machine under the recorder, with no container and no bundle.

    DIR is then a run that `repro show` and `repro compare` take. A reference for a plain script:

    \b
      repro record --out ref --save-state 0,1 -- python train.py
      repro record --out m1 --seed-state ref/attempt-1/states/step-0.safetensors \\
          --perturb 1 --stop-after 64 -- python train.py
      repro compare ref other --members m1 --members m2 --members m3
    """  # noqa: D301 - a real backspace: it keeps the lines that follow as they are
    from repro.pipeline.record import record
    from repro.run import Plan

    wish = Plan(
        save=options.numbers(save, "--save-state", least=0) if save else (),
        dense=options.numbers(dense, "--dense") if dense else (),
        **plan,
    )
    return record(list(words), out, label=label, params=params, snapshot_every=snapshot_every, plan=wish)
