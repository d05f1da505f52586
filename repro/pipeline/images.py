"""A bundle's image with all of its bytes on this machine: for whoever moves it."""

from collections.abc import Sequence

from repro import image, paths
from repro.bundle import Bundle, need_wheels
from repro.engine.contract import ImageEngine, ImageInfo
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.model.image import ImageContent
from repro.oci.blobs import Blob, Blobs
from repro.oci.image import OciImage
from repro.oci.saved import take_layers
from repro.pipeline.place import engine_or_none


def stored(bundle: Bundle, engine: ImageEngine | None, sink: Sink) -> OciImage:
    """The image that the bundle's manifest names; each layer's blob is in the cache.

    A layer that the cache lacks is looked for in the bundle's own `base/`, then read out of the engine, then
    made again from the bundle's wheels.

    Raises:
        image-not-here: the bundle has no image, or a part of it is nowhere to be had.
    """
    known = bundle.manifest.image
    if known is None:
        raise _not_here(bundle, "the bundle was made without a container engine, so it has no image")
    blobs = Blobs(paths.cache())
    _from_vendored(bundle, known, blobs)
    if engine is not None and _missing(known, blobs):
        _from_engine(known, engine, blobs, sink)
    if engine is not None and _missing(known, blobs):
        need_wheels(bundle, "making its image again")
        image.build(contents_of(bundle), engine, sink)
    missing = _missing(known, blobs)
    if missing:
        raise _not_here(bundle, f"{len(missing)} of its parts are neither in the cache nor in the engine")
    parts = [blobs.find(digest) for digest in (known.config, known.manifest)]
    config, manifest = (part.path.read_bytes() for part in parts if part and part.path)
    return OciImage(config, manifest, tuple(_held(known, blobs)))


def image_for(bundle: Bundle, engine: ImageEngine, sink: Sink, *, remote: bool = False) -> str:
    """The engine's id of the bundle's image, or of one with the same files.

    An image that somebody built of the bundle's Dockerfile has another id; its files are read and held
    against the manifest, once. Where the engine has none, it is loaded, which sends only the layers that are
    missing there; a layer that is not at hand is made of the bundle, without any network.

    Raises:
        bundle-not-built: there is none, and the bundle cannot give one here.
        image-altered: under the bundle's name lies an image of other files.
    """
    known = bundle.manifest.image
    held = image.held_image(known, engine) if known else None
    if held:
        return held.id
    tag = image.image_tag(bundle.manifest.name, bundle.manifest.id)
    found = engine.find(tag)
    if found is not None and found.labels.get("dev.reprobundle.id") == bundle.manifest.id:
        if known:
            hold(found, known, engine, sink)
            text = f"`{tag}` was built another way: it holds the same files; its settings were not compared"
            sink(Note("note", text))
        return found.id
    if known is None:
        raise _not_built(bundle, tag)
    with step(sink, "image") as shown:
        shown.detail = tag
        blobs = Blobs(paths.cache())
        if remote or not _missing(known, blobs):
            return engine.load(stored(bundle, engine_or_none() if remote else None, sink), tag, sink).id
        need_wheels(bundle, "making its image")
        return image.build(contents_of(bundle), engine, sink).record.id


def hold(found: ImageInfo, known: ImageContent, engine: ImageEngine, sink: Sink) -> None:
    """Hold an image's files against what a manifest names; what was seen once is remembered by its id.

    Raises:
        image-altered: they differ.
    """
    pieces = image.Pieces(paths.cache(), Blobs(paths.cache()))
    key = ["files of", found.id]
    tree = pieces.noted(key)
    if tree is None:
        with step(sink, "image files"):
            tree = image.tree_of(found.id, engine)
        pieces.note(key, tree)
    if tree != known.tree:
        raise altered(found, tree, known)


def altered(found: ImageInfo, tree: str, known: ImageContent, differing: Sequence[str] = ()) -> ReproError:
    """The error for an image of other files than a manifest names."""
    return ReproError(
        "image-altered",
        f"image `{(found.tags or (found.id,))[0]}` does not hold the files that the bundle names",
        found=[f"files {tree[:19]}", *differing[:12]],
        needs=f"files {known.tree[:19]}, or the image {known.config[:19]}",
        done="nothing was run",
        tries=[f"docker image rm {(found.tags or (found.id,))[0]}", "repro build", "repro image verify"],
    )


def _not_built(bundle: Bundle, tag: str) -> ReproError:
    return ReproError(
        "bundle-not-built",
        f"this engine has no image of bundle `{bundle.path.name}`",
        found=f"no image `{tag}`; the bundle was made without a container engine and names none",
        tries=[f"docker build -t {tag} {bundle.path}", "repro run --engine inplace"],
    )


def contents_of(bundle: Bundle) -> image.Contents:
    """What the image of a bundle that exists is made of."""
    arch_list = bundle.spec.arch_list if isinstance(bundle.spec.arch_list, str) else ""
    return image.Contents(
        bundle.path, bundle.manifest, bundle.lock, bundle.snapshot, bundle.evalset, arch_list
    )


def _missing(known: ImageContent, blobs: Blobs) -> list[str]:
    wanted = [known.config, known.manifest, *(layer.digest for layer in known.layers)]
    return [digest for digest in wanted if blobs.find(digest) is None]


def _held(known: ImageContent, blobs: Blobs) -> list[Blob]:
    found = (blobs.find(layer.digest) for layer in known.layers)
    return [blob for blob in found if blob]


def _from_vendored(bundle: Bundle, known: ImageContent, blobs: Blobs) -> None:
    below = [r.digest for r in known.layers if r.role in ("base", "system")]
    if (bundle.path / image.VENDORED).is_dir() and set(below) & set(_missing(known, blobs)):
        image.layers_of(below, "", blobs, None, lambda _event: None, bundle.path)


def _from_engine(known: ImageContent, engine: ImageEngine, blobs: Blobs, sink: Sink) -> None:
    held = image.held_image(known, engine)
    if held is None:
        return
    with step(sink, "layers") as shown, engine.save(held.id) as archive:
        try:
            found = take_layers(archive, set(_missing(known, blobs)), blobs)
        except ValueError as problem:
            raise ReproError(
                "image-save-failed",
                f"the layers of `{held.id[:19]}` could not be read out of the engine",
                found=str(problem),
                done="nothing half-read was kept",
                tries=["docker system df", "repro build"],
            ) from problem
        shown.detail = f"{len(found)} read out of the engine"


def _not_here(bundle: Bundle, found: str) -> ReproError:
    return ReproError(
        "image-not-here",
        f"the image of bundle `{bundle.path.name}` is not on this machine",
        found=found,
        needs="the engine or the cache that it was built with, or a file of `repro export`",
        done="nothing was sent",
        tries=["repro build", "repro import FILE"],
    )
