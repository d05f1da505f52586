"""`repro doctor`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repro.cli import options
from repro.cli.answer import Answer

if TYPE_CHECKING:
    from repro.pipeline.doctor import Finding

_STYLES = {"ok": "good", "warning": "warning", "error": "error", "unknown": "dim"}


@click.command()
@click.argument("bundle", default="")
@options.answers
def command(bundle: str, answer: Answer) -> int:
    """Look at this machine: engine, base images, git, Pythons, cards, disk.

    With a BUNDLE ask instead whether the places that its parts came from still offer them. Exit 3 when a
    build could not work.
    """
    from repro.errors import EXIT_SURROUNDINGS

    findings = _of_bundle(bundle, answer) if bundle else _of_machine()
    lines = []
    for finding in findings:
        lines.append(
            f"{answer.console.style(f'{finding.state:<8}', _STYLES[finding.state])} "
            f"{finding.check:<15} {finding.found}"
        )
        lines += [f"{'':<24} try  {remedy}" for remedy in finding.tries]
    answer.give("doctor", {"findings": [asdict(f) for f in findings]}, "\n".join(lines))
    return EXIT_SURROUNDINGS if any(f.state == "error" for f in findings) else 0


def _of_machine() -> "list[Finding]":
    from repro.pipeline.doctor import examine

    return examine(Path.cwd())


def _of_bundle(word: str, answer: Answer) -> "list[Finding]":
    from repro import bundle as bundles
    from repro.pipeline.origins import examine_origins

    return examine_origins(bundles.open_bundle(bundles.find_bundle(word, Path.cwd())), answer.console.sink)
