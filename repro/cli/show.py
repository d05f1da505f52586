"""`repro show`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("what", default="")
@options.answers
def command(what: str, answer: Answer) -> None:
    """Show a bundle or a run, by folder, start of its id, or label; without a word, list what is here."""
    from repro import bundle as bundles
    from repro.errors import ReproError

    if not what:
        _list(answer)
        return
    try:
        run = bundles.find_run(what, Path.cwd())
    except ReproError:
        _bundle(bundles.open_bundle(bundles.find_bundle(what, Path.cwd())), answer)
    else:
        _run(run, answer)


def _run(path: Path, answer: Answer) -> None:
    from repro import report
    from repro.pipeline.compare import side

    read = side(path)
    answer.give(
        "show", report.run_document(read.run, read.traces), lambda: report.run_text(read.run, read.traces)
    )


def _bundle(bundle, answer: Answer) -> None:  # type: ignore[no-untyped-def]
    from repro.cli.summary import bundle_document, bundle_text

    answer.give("show", bundle_document(bundle), lambda: bundle_text(bundle))


def _reference(bundle: Path) -> list[str]:
    return ["reference"] if (bundle / "reference" / "reference.json").is_file() else []


def _list(answer: Answer) -> None:
    from repro import bundle as bundles

    found = [
        (path, [*_reference(path), *sorted(p.name for p in (path / "runs").glob("*") if p.is_dir())])
        for path in bundles.known(Path.cwd())
    ]
    lines = [line for path, runs in found for line in (path.name, *(f"  {run}" for run in runs))]
    document = {"bundles": [{"path": str(path), "runs": runs} for path, runs in found]}
    answer.give("show", document, "\n".join(lines) or "no bundle here yet; next: repro build")
