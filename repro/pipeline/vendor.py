"""Keeps a bundle's base image in the bundle: when it is built, or later."""

from collections.abc import Sequence

from packaging.version import Version

from repro import image, paths
from repro.engine.contract import ImageEngine
from repro.events import Sink, step
from repro.model.image import LayerRecord
from repro.model.lock import Lock
from repro.oci.blobs import Blobs

_OLD = Version("2.0")


def is_old(lock: Lock) -> bool:
    """Whether the locked torch is one whose files and base images are going from where they came."""
    version = lock.version_of("torch")
    return bool(version) and Version(version) < _OLD


def keep_base(
    given: image.Contents, layers: Sequence[LayerRecord], engine: ImageEngine | None, sink: Sink
) -> None:
    """Write `base/` into the bundle's folder; raises image-save-failed."""
    with step(sink, "vendor") as shown:
        size = image.vendor(given, layers, Blobs(paths.cache()), engine, sink)
        shown.detail = f"base image kept in the bundle, {size / 1e6:.0f} MB"


def vendored(given: image.Contents, made: image.Made, engine: ImageEngine | None, sink: Sink) -> list[str]:
    """Keep the base in a bundle that exists; names of the files that are new or changed by it."""
    keep_base(given, made.content.layers, engine, sink)
    image.lay(given.folder, given.manifest, given.lock, given.snapshot, given.arch_list)
    home = given.folder / image.VENDORED
    kept = [path.relative_to(given.folder).as_posix() for path in sorted(home.rglob("*")) if path.is_file()]
    return [*kept, *image.NAMES]
