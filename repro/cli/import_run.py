"""`repro import-run`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.argument("bundle", default="")
@click.option("--unfinished", is_flag=True, help="Take attempts that have no end, too.")
@options.answers
def command(run: Path, bundle: str, unfinished: bool, answer: Answer) -> None:
    """Bring home a run that was made elsewhere: RUN is its folder, or a tar of it.

    \b
      on the pod:  python3 -m repro_runtime run --out run-a100 && tar -cf run-a100.tar run-a100
      at home:     repro import-run run-a100.tar

    It is held against the bundle (default: the one that the run names) before it becomes one of its runs.
    """  # noqa: D301 - a real backspace: it keeps the lines that follow as they are
    from repro.pipeline.import_run import import_run

    home = import_run(run, bundle, Path.cwd(), answer.console.sink, unfinished=unfinished)
    attempts = {str(number): attempt.status for number, attempt in home.run.attempts.items()}
    document = {
        "bundle": {"id": home.bundle.manifest.id, "path": str(home.bundle.path)},
        "run": {"id": home.run.run_id, "path": str(home.folder)},
        "attempts": attempts,
        "result": home.run.result or None,
        "cached": home.cached,
        "left_out": sorted(home.run.left_out),
    }
    ends = ", ".join(f"attempt {number} {status}" for number, status in attempts.items())
    lines = [
        str(home.folder),
        f"  a run of {home.bundle.title}: {ends}",
        "",
        f"next: repro show {home.folder}",
    ]
    answer.give("import-run", document, "\n".join(lines))
