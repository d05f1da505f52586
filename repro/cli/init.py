"""`repro init`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@options.project_folder
@options.python
@options.answers
def command(folder: Path, python: str, answer: Answer) -> None:
    """Write repro.toml for the project, and say what was guessed from which file.

    Never overwrites.
    """
    from repro import project as projects

    project = projects.load(folder, options.overrides(dependencies__python=python))
    written = projects.write(project)
    rows = [{"key": g.key, "value": g.value, "from": g.evidence} for g in projects.guesses(project)]
    lines = [f"  {row['key']:<26} {row['value']!s:<42} from {row['from']}" for row in rows]
    answer.give(
        "init",
        {"file": str(written), "guesses": rows},
        "\n".join(
            [
                f"wrote {written}",
                *lines,
                *project.notes,
                "",
                f"next: git add {written.name} && git commit, then: repro build",
            ]
        ),
    )
