"""The base image kept in the bundle itself, so that the bundle builds where no registry has it.

`base/` is an OCI layout that also carries `manifest.json`: `tar -C base -cf - . | docker load` gives the
image under the name that the Dockerfile then starts from.
"""

from collections.abc import Sequence
from pathlib import Path

from repro.engine.contract import ImageEngine
from repro.events import Sink
from repro.files import link_or_copy, write_whole
from repro.image.base.find import vendored_name
from repro.image.base.layers import VENDORED, base_blobs, base_image, layers_of
from repro.image.contents import Contents
from repro.model.image import LayerRecord
from repro.oci import archive
from repro.oci.blobs import Blobs


def vendor(
    given: Contents, layers: Sequence[LayerRecord], blobs: Blobs, engine: ImageEngine | None, sink: Sink
) -> int:
    """Write `base/` into the bundle's folder, with the layers of Debian packages beside; bytes that it holds.

    Raises:
        image-save-failed: a layer is nowhere to be had.
    """
    base = given.manifest.base
    image = base_image(base, base_blobs(base, blobs, engine, sink, given.folder))
    home = given.folder / VENDORED
    for member in archive.members(image, vendored_name(base)):
        _put(member.source, home / member.name)
    listed = [layer.digest for layer in layers if layer.role == "system"]
    above = layers_of(listed, "", blobs, None, sink, given.folder)
    for blob in above:
        _put(blob.path, home / "blobs" / blob.digest.replace(":", "/"))
    return image.bytes + sum(blob.bytes for blob in above)


def _put(source: object, target: Path) -> None:
    if isinstance(source, bytes):
        write_whole(target, source)
    elif isinstance(source, Path) and not target.exists():
        link_or_copy(source, target)
