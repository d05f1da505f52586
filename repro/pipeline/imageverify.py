"""Holds the files of any image, however it was built, against the bundle that it is said to be of."""

from dataclasses import dataclass, field

from repro import image
from repro.bundle import Bundle
from repro.engine.contract import ImageEngine, ImageInfo
from repro.errors import ReproError
from repro.events import Sink, step
from repro.image import Line
from repro.pipeline.images import altered, contents_of


@dataclass(frozen=True)
class Held:
    """How an image stands to a bundle.

    Attributes:
        image: as the engine knows it.
        same_image: it is the bundle's own image, digest by digest; else only its files are the same.
        tree: digest over its files below /opt/env and /opt/repro, compiled bytecode apart.
        files: their number.
    """

    image: ImageInfo
    same_image: bool
    tree: str
    files: int
    differing: list[str] = field(default_factory=list)


def verify_image(bundle: Bundle, reference: str, engine: ImageEngine, sink: Sink) -> Held:
    """Read every file of an image and hold it against the bundle; no reference means the bundle's own tag.

    Raises:
        image-missing: the engine has no such image.
        image-not-here: the bundle names no image, since it was made without an engine.
        image-altered: the files differ; the first paths are told.
    """
    known = bundle.manifest.image
    if known is None:
        raise ReproError(
            "image-not-here",
            f"bundle `{bundle.path.name}` names no image",
            found="it was made without a container engine",
            tries=["repro build"],
        )
    tag = reference or image.image_tag(bundle.manifest.name, bundle.manifest.id)
    found = engine.find(tag) or (image.held_image(known, engine) if not reference else None)
    if found is None:
        raise ReproError(
            "image-missing", f"the engine holds no image `{tag}`", tries=["repro build", "docker image ls"]
        )
    with step(sink, "image files") as shown, engine.export(found.id) as root:
        lines = list(image.tree_lines(root))
        shown.detail = f"{len(lines)} files, folders and links"
    tree = image.tree_digest(lines)
    if tree != known.tree:
        raise altered(found, tree, known, _told(bundle, lines, engine, sink))
    return Held(found, known.names(found.id), tree, len(lines))


def _told(bundle: Bundle, lines: list[Line], engine: ImageEngine, sink: Sink) -> list[str]:
    """What differs, path by path; nothing when the bundle's own files cannot be laid out here."""
    base = engine.find(bundle.manifest.base.id) or engine.find(bundle.manifest.base.used)
    if base is None:
        return []
    try:
        expected = image.assemble(contents_of(bundle), base.id, engine, sink).lines
    except ReproError:
        return ["which paths differ cannot be told: the bundle's wheels are not here"]
    return image.differences(lines, expected)
