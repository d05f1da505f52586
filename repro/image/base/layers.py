"""The layers of a base image as blobs: from the cache, from a vendored copy, or out of the engine, once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from repro.engine.contract import ImageEngine, ImageInfo
from repro.errors import ReproError
from repro.events import Sink, step
from repro.model.bundle import Base
from repro.oci.blobs import Blob, Blobs
from repro.oci.image import OciImage, make
from repro.oci.saved import take_layers

VENDORED = "base"
# What a child image inherits (Dockerfile reference, FROM). What the child sets anew is not in it.
_INHERITED = ("Env", "ExposedPorts", "Labels", "OnBuild", "Shell", "StopSignal", "Volumes")


def inherited(held: ImageInfo) -> dict[str, Any]:
    """The part of an image's configuration that its children take over, without empty entries."""
    return {key: held.config[key] for key in _INHERITED if held.config.get(key)}


def layers_of(
    layers: list[str], reference: str, blobs: Blobs, engine: ImageEngine | None, sink: Sink, folder: Path
) -> list[Blob]:
    """Blobs of those layers, from the lowest on.

    Args:
        layers: diff ids.
        reference: the image in the engine that has them.
        blobs: where they are kept.
        engine: asked for what is not kept yet; None where there is none.
        sink: told when the engine is asked, which takes a while.
        folder: the bundle's; its `base/` is looked into before the engine.

    Raises:
        image-save-failed: a layer is nowhere to be had.
    """
    missing = [digest for digest in layers if blobs.find(digest) is None]
    for digest in missing:
        vendored = folder / VENDORED / "blobs" / digest.replace(":", "/")
        if vendored.is_file():
            with vendored.open("rb") as source:
                blobs.take(source, digest)
    missing = [digest for digest in layers if blobs.find(digest) is None]
    if missing and engine is not None:
        with step(sink, "base layers") as shown, engine.save(reference) as archive:
            found = _taken(archive, missing, blobs, reference)
            shown.detail = f"{len(found)} read out of the engine, kept for the next build"
    held = [blobs.find(digest) for digest in layers]
    if None in held:
        raise _not_there(reference, [d for d, blob in zip(layers, held, strict=True) if blob is None])
    return [blob for blob in held if blob]


def _taken(archive: Any, missing: list[str], blobs: Blobs, reference: str) -> dict[str, Blob]:
    try:
        return take_layers(archive, set(missing), blobs)
    except ValueError as problem:
        raise ReproError(
            "image-save-failed",
            f"the layers of `{reference}` could not be read out of the engine",
            found=str(problem),
            done="nothing half-read was kept",
            tries=[f"docker save {reference} > /dev/null", "docker system df"],
        ) from problem


def _not_there(reference: str, missing: list[str]) -> ReproError:
    return ReproError(
        "image-save-failed",
        f"{len(missing)} layers of base image `{reference}` are nowhere to be had",
        found=[f"no blob {digest[:19]}" for digest in missing[:5]],
        needs="the engine that holds the base image, or a bundle built with --vendor",
        done="nothing was made",
        tries=[f"docker pull {reference}", "repro build --vendor"],
    )


def base_blobs(base: Base, blobs: Blobs, engine: ImageEngine | None, sink: Sink, folder: Path) -> list[Blob]:
    """Blobs of a base image; see `layers_of`."""
    return layers_of(base.layers, base.used, blobs, engine, sink, folder)


def base_image(base: Base, layers: Sequence[Blob]) -> OciImage:
    """The base image, made again from its layers and what it passes on."""
    return make(
        base.config,
        layers,
        architecture=base.architecture,
        created="1980-01-01T00:00:00Z",
        history=["repro: base"] * len(layers),
    )
