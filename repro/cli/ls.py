"""`repro ls`."""

from pathlib import Path
from typing import Any

import click

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@options.answers
def command(answer: Answer) -> None:
    """List what takes space: bundles of this folder, images in the engine, the cache; with sizes."""
    from repro import bundle as bundles
    from repro.console import size
    from repro.pipeline.place import engine_or_none
    from repro.pipeline.prune import look

    kept = look(engine_or_none())
    here = bundles.known(Path.cwd())
    document: dict[str, Any] = {
        "bundles": [str(path) for path in here],
        "images": None
        if kept.images is None
        else [
            {
                "id": image.id,
                "tags": list(image.tags),
                "bytes": image.bytes,
                "own_bytes": image.own_bytes,
                "base": image.base,
                "used": image.used,
            }
            for image in kept.images
        ],
        "cache": {
            "path": str(kept.folder),
            "kinds": {kind: {"entries": n, "bytes": b} for kind, (n, b) in kept.cache.items()},
        },
    }
    rows = [("bundle", path.name, "") for path in here]
    rows += [
        (
            "image",
            (image.tags or (image.id[7:19],))[0],
            f"{size(image.bytes)}, {size(image.own_bytes)} its own",
        )
        for image in kept.images or []
    ]
    rows += [("cache", kind, f"{size(b)} in {n}") for kind, (n, b) in kept.cache.items()]
    if kept.images is None:
        rows.append(("image", "no container engine answers", "see `repro doctor`"))
    lines = [f"{kind:<7} {name:<44} {said}".rstrip() for kind, name, said in rows]
    answer.give(
        "ls", document, "\n".join([*lines, "", "next: repro prune      (says what may go, and asks)"])
    )
