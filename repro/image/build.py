"""From a bundle's folder to an image that was seen to work."""

from dataclasses import dataclass

from repro import paths
from repro.engine.contract import ImageEngine, ImageInfo
from repro.errors import ReproError
from repro.events import Sink, step
from repro.image.assemble import Assembled, assemble
from repro.image.base.find import present_base
from repro.image.contents import Contents
from repro.image.layers.piece import Pieces
from repro.image.naming import image_tag
from repro.image.tryout import try_out
from repro.model.bundle import ImageRecord
from repro.model.image import ImageContent
from repro.oci.blobs import Blobs


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
    _tried(given, made, loaded, tag, engine, sink)
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


def _tried(
    given: Contents, made: Assembled, loaded: ImageInfo, tag: str, engine: ImageEngine, sink: Sink
) -> None:
    """Try what no image was tried with before: the layers below the bundle's own content decide it."""
    pieces = Pieces(paths.cache(), Blobs(paths.cache()))
    below = ["tried", [r.digest for r in made.content.layers if r.role not in ("eval", "code")]]
    if pieces.noted(below):
        return
    try:
        with step(sink, "try"):
            try_out(loaded.id, given.lock, engine, sink)
    except BaseException:
        # Under its name it would be taken for a good one the next time. The cache keeps its layers.
        engine.remove(tag)
        raise
    pieces.note(below, True)
