"""A bundle goes into one file: held against its manifest, its image's layers gathered, packed."""

from dataclasses import dataclass
from pathlib import Path

from repro import move
from repro.bundle import Bundle, left_out, need_wheels, verify
from repro.engine.contract import ImageEngine
from repro.engine.docker import DockerEngine
from repro.events import Note, Sink, step
from repro.image import image_tag
from repro.model.image import ImageContent
from repro.move import Packed, Wish
from repro.oci import OciImage
from repro.pipeline.ready import damaged


@dataclass(frozen=True)
class ExportOptions:
    """What a user may say about one export.

    Attributes:
        out: file, or folder for it; None for beside the bundle, where git sees it no more than the bundle.
        image: whether the image goes along. runs: whether the runs do.
        thin: what the receiver has: an engine's address, or an earlier exported file; empty for nothing.
    """

    out: Path | None = None
    image: bool = True
    runs: bool = False
    thin: str = ""


def export(bundle: Bundle, options: ExportOptions, sink: Sink) -> Packed:
    """Make the file, whole or not at all; one that has its name is replaced.

    Raises:
        bundle-damaged: a file is not as it was packed. bundle-thin: its wheels are not here.
        export-name, export-target, export-changed: see `repro.move`.
        image-not-here: the image's layers are neither in the cache nor in the engine.
    """
    if not options.thin:
        need_wheels(bundle, "a whole export")
    with step(sink, "verify") as shown:
        if damage := verify(bundle, sink):
            raise damaged(bundle, damage)
        missing = len(left_out(bundle.path))
        shown.detail = f"{len(bundle.manifest.files) - missing} files as packed"
    image = _image(bundle, sink) if options.image else None
    if options.thin and image is None:
        raise move.no_target(options.thin, "without its image there is nothing to leave out")
    held = _held(options.thin, bundle.manifest.image, image) if options.thin else 0
    wish = Wish(
        folder=bundle.path,
        manifest=bundle.manifest,
        image=image,
        tag=image_tag(bundle.manifest.name, bundle.manifest.id),
        held=held,
        spare=not options.thin,
        runs=options.runs,
    )
    return move.pack(wish, target_of(bundle, options), sink)


def target_of(bundle: Bundle, options: ExportOptions) -> Path:
    """Where the file goes."""
    name = move.top_of(bundle.manifest) + (move.THIN_SUFFIX if options.thin else move.SUFFIX)
    if options.out is None:
        return bundle.path.parent / name
    return (options.out / name if options.out.is_dir() else options.out).absolute()


def _image(bundle: Bundle, sink: Sink) -> OciImage | None:
    if bundle.manifest.image is None:
        sink(Note("warning", "the bundle was made without an engine: it has no image to export"))
        return None
    from repro.pipeline.images import stored

    return stored(bundle, DockerEngine(), sink)


def _held(target: str, content: ImageContent | None, image: OciImage | None) -> int:
    if content is None or image is None:
        return 0
    if "://" in target:
        receiver: ImageEngine = DockerEngine(target)
        return receiver.held_layers(image)
    return move.held_before(Path(target), content)
