"""What was read of wheels and images, kept: the second look at a lock opens no wheel.

A JSON document each, and a file of names for a torch, in `scan/` of the tool's cache folder, below the
version of the reader that made them. Whatever is damaged counts as absent.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from repro.errors import ReproError
from repro.events import Note, Sink
from repro.files import write_whole
from repro.model.binary import ImageFacts, WheelFacts
from repro.scan.elf.exports import Exports, unpack

# Part of every key, so that what another version kept is never taken for ours. Count it up with every change
# that gives other facts of the same file: a field of the records, a bound, which names are torch's. A test
# notices.
READER = 1

_Facts = TypeVar("_Facts", WheelFacts, ImageFacts)
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def facts_for(sha256: str, cache: Path) -> WheelFacts | None:
    """What is known of the wheel, None when it has to be read.

    A torch whose names are gone has to be read as well.
    """
    facts = _facts(_place(sha256, cache, "json"), WheelFacts)
    if facts is None or (facts.reader, facts.sha256) != (READER, sha256):
        return None
    return None if facts.name == "torch" and exports_for(sha256, cache) is None else facts


def exports_for(sha256: str, cache: Path) -> Exports | None:
    """The names that the torch of this wheel offers, None when they are not known."""
    data = _read(_place(sha256, cache, "exports"))
    return unpack(data) if data else None


def keep(facts: WheelFacts, exports: Exports | None, cache: Path) -> None:
    """Write what was read of a wheel; the names of a torch first, for they are looked for second."""
    if exports is not None:
        write_whole(_place(facts.sha256, cache, "exports"), exports.pack())
    write_whole(_place(facts.sha256, cache, "json"), msgspec.json.encode(facts) + b"\n")


def image_for(image: str, cache: Path) -> ImageFacts | None:
    """What is known of the image of this id, the digest of its content; None when it has to be read."""
    facts = _facts(_place(image, cache, "image.json"), ImageFacts)
    return facts if facts and (facts.reader, facts.image) == (READER, image) else None


def keep_image(facts: ImageFacts, image: str, cache: Path) -> None:
    """Write what was read of an image."""
    marked = msgspec.structs.replace(facts, reader=READER, image=image)
    write_whole(_place(image, cache, "image.json"), msgspec.json.encode(marked) + b"\n")


@contextmanager
def forgiving(what: str, sink: Sink) -> Iterator[None]:
    """An answer does not fail for want of a cache: it is said, and the next check reads `what` again."""
    try:
        yield
    except (OSError, ReproError) as problem:
        sink(Note("warning", f"what `{what}` holds is not kept for the next check: {problem}"))


def _facts(path: Path, kind: type[_Facts]) -> _Facts | None:
    try:
        return msgspec.json.decode(_read(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _place(sha256: str, cache: Path, kind: str) -> Path:
    found = _SHA256.fullmatch(sha256)
    if found is None:
        raise ValueError(f"no SHA-256 in hex: {sha256!r}")
    return cache / "scan" / f"reader-{READER}" / f"{found[1]}.{kind}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
