"""From a bundle's folder to an image that was seen to work."""

from dataclasses import dataclass
from importlib.resources import files

from repro import paths
from repro.engine.contract import ImageEngine, ImageInfo, Job
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.image.assemble import Assembled, assemble
from repro.image.base.find import present_base
from repro.image.contents import Contents
from repro.image.imports import explain, modules_to_try
from repro.image.layers.piece import Pieces
from repro.image.naming import image_tag
from repro.model.bundle import ImageRecord
from repro.model.image import ImageContent
from repro.model.lock import Lock
from repro.oci.blobs import Blobs

_PYTHON = "/opt/env/bin/python"
_PIP_CHECK = ("-m", "pip", "--isolated", "--disable-pip-version-check", "check")


@dataclass(frozen=True)
class Made:
    """An image that this engine holds; `held` is the number of its layers that were here before."""

    record: ImageRecord
    content: ImageContent
    held: int


def build(given: Contents, engine: ImageEngine, sink: Sink, *, again: bool = False) -> Made:
    """The image of a bundle, made unless the engine holds it already; with `again`, made in any case.

    A new environment is tried before it counts: the runtime must answer and the locked packages with native
    code must load, with no network and as an ordinary user.

    Raises:
        base-not-found, base-changed: the base image is not the one that the bundle was made with.
        image-differs: the same content gave another image than the bundle's manifest names.
        image-load-failed, disk-full: see `ImageEngine.load`.
        image-import-failed, image-runtime-failed: it was made, and does not work.
    """
    tag = image_tag(given.manifest.name, given.manifest.id)
    known = None if again else given.manifest.image
    found = held_image(known, engine) if known else None
    if known and found:
        if tag not in found.tags:
            engine.tag(found.id, tag)
        return Made(_record(engine, tag, found), known, len(found.layers))
    base = present_base(given.manifest.base, given.lock.python, given.folder, engine, sink)
    made = assemble(given, base.id, engine, sink)
    if known and known != made.content:
        raise _differs(known, made.content)
    with step(sink, "load") as shown:
        held = engine.held_layers(made.image)
        loaded = engine.load(made.image, tag, sink)
        sent = made.content.layers[held:]
        shown.cached = not sent
        shown.detail = (
            f"{len(sent)} of {len(made.content.layers)} layers, {sum(r.bytes for r in sent)} bytes sent"
        )
    _try_out(given, made, loaded, tag, engine, sink)
    return Made(_record(engine, tag, loaded), made.content, held)


def held_image(known: ImageContent, engine: ImageEngine) -> ImageInfo | None:
    """The image of that content, if the engine holds it, by whichever id its store gives."""
    return engine.find(known.config) or engine.find(known.manifest)


def _record(engine: ImageEngine, tag: str, found: ImageInfo) -> ImageRecord:
    return ImageRecord(
        engine=engine.info().kind, tag=tag, id=found.id, bytes=found.bytes, layers=list(found.layers)
    )


def _differs(known: ImageContent, found: ImageContent) -> ReproError:
    names = ("config", "manifest", "tree")
    other = [name for name in names if getattr(known, name) != getattr(found, name)]
    pairs = zip(known.layers, found.layers, strict=False)
    changed = [f"{a.role} layer: {b.digest[:19]}, not {a.digest[:19]}" for a, b in pairs if a != b]
    return ReproError(
        "image-differs",
        "the bundle's content gives another image now than its manifest names",
        found=[f"other: {', '.join(other)}", *changed[:5]],
        why="the base image's Python, or this tool's way of writing layers, is not the one it was made with",
        done="nothing was loaded",
        tries=["repro verify", "repro import FILE      (a bundle that carries its image)", "repro build"],
    )


def _try_out(
    given: Contents, made: Assembled, loaded: ImageInfo, tag: str, engine: ImageEngine, sink: Sink
) -> None:
    """Try what no image was tried with before: the layers below the bundle's own content decide it."""
    pieces = Pieces(paths.cache(), Blobs(paths.cache()))
    below = ["tried", [r.digest for r in made.content.layers if r.role not in ("eval", "code")]]
    if pieces.noted(below):
        return
    try:
        with step(sink, "try"):
            _probe(loaded, given.lock, engine, sink)
    except BaseException:
        # Under its name it would be taken for a good one the next time. The cache keeps its layers.
        engine.remove(tag)
        raise
    pieces.note(below, True)


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
    checked = _run(
        engine,
        Job(made.id, _PIP_CHECK, entrypoint=(_PYTHON,), labels={"dev.reprobundle.run": "probe"}),
    )
    if checked.status != 0:
        raise ReproError(
            "image-check-failed",
            "the locked packages do not fit one another",
            found=checked.text.strip().splitlines()[-10:],
            needs="what `pip check` accepts",
            done="the image's name was taken away; its layers stay in the cache",
            tries=["repro build --relock", "change the pins named above"],
        )
    helped = _run(engine, Job(made.id, ("--help",), labels={"dev.reprobundle.run": "probe"}))
    if helped.status != 0:
        raise ReproError(
            "image-runtime-failed",
            "the image was built, and its own entry point does not answer",
            found=[
                f"`docker run IMAGE --help` ended with status {helped.status}",
                *helped.text.splitlines()[-10:],
            ],
            done="the image's name was taken away; its layers stay in the cache",
            tries=["repro build", "repro doctor"],
        )


def _run(engine: ImageEngine, job: Job) -> _Said:
    pieces: list[bytes] = []
    ended = engine.run(job, pieces.append)
    return _Said(ended.status, b"".join(pieces).decode("utf-8", "replace"))
