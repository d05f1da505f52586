"""From a bundle's folder to an image that was seen to work."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from repro.engine.contract import ImageEngine, ImageInfo, Job
from repro.errors import ReproError
from repro.events import Note, Sink
from repro.image import context
from repro.image.dockerfile import from_reference
from repro.image.imports import explain, modules_to_try
from repro.image.naming import image_tag
from repro.model.bundle import Base, ImageRecord, Manifest
from repro.model.lock import Lock

_ID_LABEL = "dev.reprobundle.id"
_PYTHON = "/opt/env/bin/python"


def build(
    folder: Path, manifest: Manifest, lock: Lock, engine: ImageEngine, sink: Sink, *, again: bool = False
) -> ImageRecord:
    """The image of a bundle, built unless the engine holds it already; with `again`, built in any case.

    A new image is tried before it counts: the runtime must answer and the locked packages
    with native code must load, with no network and as an ordinary user.

    Raises:
        base-not-found, base-changed: the base image is not the one that the bundle was made with.
        image-build-failed, disk-full: see `ImageEngine.build`.
        image-import-failed, image-runtime-failed: it was built, and does not work.
    """
    tag = image_tag(manifest.name, manifest.id)
    made = engine.find(tag)
    if again or made is None or made.labels.get(_ID_LABEL) != manifest.id:
        made = _make(folder, manifest, lock, engine, sink)
    return ImageRecord(
        engine=engine.info().kind, tag=tag, id=made.id, bytes=made.bytes, layers=list(made.layers)
    )


def _make(folder: Path, manifest: Manifest, lock: Lock, engine: ImageEngine, sink: Sink) -> ImageInfo:
    tag = image_tag(manifest.name, manifest.id)
    _check_base(manifest.base, lock.python, engine, sink)
    if lock.system:
        names = ", ".join(lock.system)
        sink(
            Note(
                "warning",
                f"Debian packages ({names}) are fetched as they are today: that layer is not reproducible",
            )
        )
    with context.stream(folder) as source:
        made = engine.build(source, tag, sink, network=bool(lock.system))
    try:
        _probe(made, lock, engine, sink)
    except BaseException:
        # Under its name it would be taken for a good one the next time. The build cache keeps its layers.
        engine.remove(tag)
        raise
    return made


def _check_base(base: Base, python: str, engine: ImageEngine, sink: Sink) -> None:
    reference = from_reference(base, python)
    held = engine.find(reference) or (engine.pull(reference, sink) if base.repo_digest else None)
    short = base.id.removeprefix("sha256:")[:12]
    if held is None:
        raise ReproError(
            "base-not-found",
            f"the bundle's base image `{reference}` is not held by this engine",
            needs=f"image {short}",
            tries=[f"repro base create --python {python}", f"docker image tag {short} {reference}"],
        )
    if list(held.layers) != base.layers:
        raise ReproError(
            "base-changed",
            f"`{reference}` is another image now than when the bundle was made",
            found=f"image {held.id.removeprefix('sha256:')[:12]}",
            needs=f"image {short}",
            why="the base is part of the bundle's identity",
            tries=[
                f"docker image tag {short} {reference}",
                "repro build      (a new bundle, on the new base)",
            ],
        )


@dataclass(frozen=True)
class _Said:
    """What a probe's container left: exit status and output."""

    status: int
    text: str


def _probe(made: ImageInfo, lock: Lock, engine: ImageEngine, sink: Sink) -> None:
    script = (files("repro") / "image" / "import_probe.py").read_text("utf-8")
    names = modules_to_try(lock)
    said = _run(
        engine,
        Job(made.id, ("-c", script, *names), entrypoint=(_PYTHON,), labels={"dev.reprobundle.run": "probe"}),
    )
    notes = explain(said.status, said.text)
    for text in notes:
        sink(Note("warning", text))
    helped = _run(engine, Job(made.id, ("--help",), labels={"dev.reprobundle.run": "probe"}))
    if helped.status != 0:
        raise ReproError(
            "image-runtime-failed",
            "the image was built, and its own entry point does not answer",
            found=[
                f"`docker run IMAGE --help` ended with status {helped.status}",
                *helped.text.splitlines()[-10:],
            ],
            done="the image's name was taken away; its layers stay cached",
            tries=["repro build", "repro doctor"],
        )


def _run(engine: ImageEngine, job: Job) -> _Said:
    pieces: list[bytes] = []
    ended = engine.run(job, pieces.append)
    return _Said(ended.status, b"".join(pieces).decode("utf-8", "replace"))
