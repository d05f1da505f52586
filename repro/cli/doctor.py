"""`repro doctor`."""

from dataclasses import asdict
from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer

_STYLES = {"ok": "good", "warning": "warning", "error": "error", "unknown": "dim"}


@click.command()
@options.answers
def command(answer: Answer) -> int:
    """Look at this machine: engine, base images, git, Pythons, cards, disk.

    Exit 3 when a build could not work.
    """
    from repro.errors import EXIT_SURROUNDINGS
    from repro.pipeline.doctor import examine

    findings = examine(Path.cwd())
    lines = []
    for finding in findings:
        lines.append(
            f"{answer.console.style(f'{finding.state:<8}', _STYLES[finding.state])} "
            f"{finding.check:<15} {finding.found}"
        )
        lines += [f"{'':<24} try  {remedy}" for remedy in finding.tries]
    answer.give("doctor", {"findings": [asdict(f) for f in findings]}, "\n".join(lines))
    return EXIT_SURROUNDINGS if any(f.state == "error" for f in findings) else 0
