"""What a receiver has already, told by an earlier file that was exported for it."""

from collections.abc import Sequence
from pathlib import Path

from repro.errors import ReproError
from repro.model.image import ImageContent
from repro.move.read import peek


def held_before(file: Path, image: ImageContent) -> int:
    """How many of the image's lowest layers whoever imported that file has.

    Layers that the file itself left out count: it could be loaded only where they are.

    Raises:
        export-target: it is no exported file, or damaged where it says what it holds.
    """
    try:
        with file.open("rb") as source:
            manifest, record = peek(source, str(file))
    except OSError as problem:
        raise no_target(str(file), str(problem.strerror)) from problem
    except ReproError as problem:
        raise no_target(str(file), problem.found[0]) from problem
    if manifest.image is None or record.image is None:
        return 0
    return _common([a.digest for a in image.layers], [a.digest for a in manifest.image.layers])


def no_target(word: str, found: str) -> ReproError:
    """The error for a target that tells nothing of what it has."""
    return ReproError(
        "export-target",
        f"`{word}` says of no receiver what it has",
        found=found,
        needs="an engine's address (ssh://HOST), or a file that `repro export` made",
        done="no file was made",
        tries=["repro export BUNDLE --thin ssh://HOST", "repro export BUNDLE"],
    )


def _common(wanted: Sequence[str], chain: Sequence[str]) -> int:
    pairs = zip(wanted, chain, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(wanted), len(chain)))
