"""`repro build`."""

from pathlib import Path

import click

from repro import events
from repro.cli import options
from repro.cli.answer import Answer
from repro.engine.contract import EngineName
from repro.model.project import Project


@click.command()
@options.project_folder
@options.engine
@options.allow_dirty
@options.include
@options.sets
@options.python
@click.option("--base", default="", metavar="IMAGE", help="Base image that holds this Python.")
@click.option(
    "--extra-index-url",
    multiple=True,
    metavar="URL",
    help="One more package index, e.g. PyTorch's for a CUDA or CPU build.",
)
@click.option("--gpu", "gpus", multiple=True, metavar="CARD", help="Check for this card, not the settings'.")
@click.option("--driver", default="", metavar="VERSION", help="Driver to check for, not the settings'.")
@click.option(
    "--allow-incompatible", is_flag=True, help="Build although a target will fail; the bundle says so."
)
@click.option(
    "--vendor/--no-vendor",
    default=None,
    help="Keep the base image in the bundle, so that it builds with no index and no registry; "
    "usual for torch below 2.0.",
)
@click.option("--relock", is_flag=True, help="Resolve again although the inputs are unchanged.")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for bundles; default `.repro` in the project.",
)
@options.answers
def command(
    folder: Path,
    engine: EngineName,
    allow_dirty: bool,
    include: tuple[str, ...],
    sets: tuple[str, ...],
    python: str,
    base: str,
    extra_index_url: tuple[str, ...],
    gpus: tuple[str, ...],
    driver: str,
    allow_incompatible: bool,
    vendor: bool | None,
    relock: bool,
    out: Path | None,
    answer: Answer,
) -> None:
    """Make a bundle of the project: snapshot, lock, check, image.

    Ends with id, sizes and the next command.
    """
    from repro import project as projects
    from repro.pipeline.build import BuildOptions, build

    given = options.overrides(dependencies__python=python, dependencies__base=base)
    if extra_index_url:
        given["dependencies.extra_index_urls"] = list(extra_index_url)
    project = projects.load(folder, given)
    steps: list[dict[str, object]] = []

    def sink(event: events.Event) -> None:
        if isinstance(event, events.StepEnded):
            steps.append({"name": event.name, "seconds": round(event.seconds, 3), "cached": event.cached})
        answer.console.sink(event)

    _tell(project, answer)
    built = build(
        project,
        BuildOptions(
            engine=engine,
            allow_dirty=allow_dirty,
            include=include,
            sets=sets,
            out=out,
            relock=relock,
            gpus=gpus,
            driver=driver,
            allow_incompatible=allow_incompatible,
            vendor=vendor,
        ),
        sink,
    )
    from repro.cli.summary import bundle_document, bundle_text

    answer.give(
        "build",
        {
            **bundle_document(built.bundle, built.image.held if built.image else None),
            "steps": steps,
            "cached": built.cached,
        },
        lambda: bundle_text(built.bundle, cached=built.cached),
    )


def _tell(project: Project, answer: Answer) -> None:
    """What the user should know of the settings before the work begins."""
    from repro import project as projects

    for text in project.notes:
        answer.console.sink(events.Note("note", text))
    guessed = [guess.key for guess in projects.guesses(project)]
    if guessed and not answer.as_json:
        said = f"guessed, as the settings do not say: {', '.join(guessed)}; see `repro init`"
        answer.console.sink(events.Note("note", said))
