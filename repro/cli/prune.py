"""`repro prune`."""

import sys

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.option(
    "--keep", default=3, show_default=True, type=click.IntRange(0), help="Newest images of each name to keep."
)
@click.option(
    "--days",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Keep what was used within so many.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="All images of this tool but bases, and all of the cache that was not used just now.",
)
@click.option("--dry-run", is_flag=True, help="Say what would go, and take nothing away.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.answers
def command(keep: int, days: float, everything: bool, dry_run: bool, yes: bool, answer: Answer) -> int:
    """Take away images and cached files that can be made again; lists them with sizes, and asks first.

    Bundles and runs are never touched. Images that a container uses, and base images, stay.
    """
    from repro.console import size
    from repro.pipeline.place import engine_or_none
    from repro.pipeline.prune import Wish, candidates, remove

    items = candidates(Wish(keep=keep, days=days, all=everything), engine_or_none())
    total = sum(item.bytes for item in items)
    listed = [{"kind": i.kind, "name": i.name, "bytes": i.bytes, "why": i.why} for i in items]
    lines = [f"{i.kind:<20} {i.name[:48]:<48} {size(i.bytes):>9}  {i.why}" for i in items]
    if not items or dry_run:
        text = "\n".join([*lines, f"{size(total)} in {len(items)} would go"]) if items else "nothing may go"
        answer.give("prune", {"removed": [], "would_remove": listed, "bytes": 0, "failed": []}, text)
        return 0
    if not yes:
        click.echo("\n".join(lines), err=True)
        if not sys.stdin.isatty():
            raise click.UsageError("nobody can be asked here: say --yes, or --dry-run to see the list")
        if not click.confirm(f"take away {len(items)} things, {size(total)}?", err=True):
            items = []
    freed, failed = remove(items)
    document = {"removed": listed, "would_remove": [], "bytes": freed, "failed": failed}
    answer.give("prune", document, "\n".join([f"{size(freed)} given back", *failed]))
    return 1 if failed else 0
