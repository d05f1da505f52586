"""`repro push`."""

from pathlib import Path

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@click.argument("bundle")
@click.argument("repository")
@click.option("--no-image", is_flag=True, help="Push the bundle alone.")
@options.insecure
@options.answers
def command(bundle: str, repository: str, no_image: bool, insecure: bool, answer: Answer) -> None:
    """Push a bundle and its image into a registry, as `registry.example/team/name`.

    The image gets the first twelve letters of the bundle's id as its tag: `docker run` and rented pods take
    it from there. The bundle lies beside it, under the same tag with `.bundle` behind. Logins are those of
    `docker login`. A push that was cut goes on where it stopped.
    """
    from repro import bundle as bundles
    from repro.console import size
    from repro.pipeline.push import PushOptions, push
    from repro.registry import Sent

    found = bundles.open_bundle(bundles.find_bundle(bundle, Path.cwd()))
    wish = PushOptions(image=not no_image, insecure=insecure)
    pushed = push(found, repository, wish, answer.console.sink)

    def row(sent: Sent) -> dict[str, object]:
        return {
            "reference": sent.reference,
            "digest": sent.digest,
            "blobs_sent": sent.blobs,
            "bytes_sent": sent.bytes,
            "bytes": sent.total,
        }

    def line(word: str, sent: Sent) -> str:
        return (
            f"{word}  {sent.reference}\n        {sent.digest}, {size(sent.bytes)} of {size(sent.total)} sent"
        )

    document = {
        "bundle": {"id": found.manifest.id, "path": str(found.path)},
        "artifact": row(pushed.bundle),
        "image": row(pushed.image) if pushed.image else None,
    }
    lines = [line("image ", pushed.image)] if pushed.image else []
    lines += [
        line("bundle", pushed.bundle),
        "",
        f"next: repro pull {pushed.bundle.reference.removesuffix('.bundle')}",
    ]
    answer.give("push", document, "\n".join(lines))
