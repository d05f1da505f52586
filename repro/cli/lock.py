"""`repro lock`."""

from pathlib import Path

import click
import msgspec

from repro.cli import options
from repro.cli.answer import Answer
from repro.engine.contract import EngineName


@click.command()
@options.project_folder
@options.engine
@options.python
@click.option("--relock", is_flag=True, help="Resolve again although the inputs are unchanged.")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for requirements.lock; default `.repro/lock`.",
)
@options.answers
def command(
    folder: Path, engine: EngineName, python: str, relock: bool, out: Path | None, answer: Answer
) -> None:
    """Resolve the dependencies in the target's Python, with hashes, and prove that they install offline."""
    from repro import project as projects
    from repro.console import size
    from repro.pipeline.lock import lock

    project = projects.load(folder, options.overrides(dependencies__python=python))
    made, where = lock(project, engine, out, answer.console.sink, relock=relock)
    total = sum(w.bytes for w in made.wheels)
    rows = [f"  {w.name}=={w.version}  {size(w.bytes)}  {w.origin}" for w in made.wheels]
    warned = [f"  {w.code}  {w.where}: {w.text}" for w in made.warnings]
    answer.give(
        "lock",
        {"path": str(where), "lock": msgspec.to_builtins(made)},
        "\n".join(
            [
                f"{where / 'requirements.lock'}  {len(rows)} packages, {size(total)}",
                *rows,
                *warned,
            ]
        ),
    )
