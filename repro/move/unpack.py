"""Writes what was checked into a folder, and an image's layers into the cache."""

from pathlib import Path
from typing import IO, cast

from repro import oci
from repro.events import Meter, Sink
from repro.files import write_whole
from repro.model import canonical
from repro.model.move import Thin
from repro.move import image, names
from repro.move.read import Checked
from repro.move.refused import refusing
from repro.move.stream import Reading, copy
from repro.tarread import Entry, RefusedError, entries

_NOT_WRITTEN = (names.IMAGE, names.EXPORT)


def unpack(source: IO[bytes], file: str, checked: Checked, folder: Path, sink: Sink) -> None:
    """Write the bundle's files into the empty `folder`; links come last: none is ever written through.

    Raises:
        import-refused: the file is not the one any more that was checked.
    """
    digests = {e.path: e.sha256 for e in (*checked.manifest.files, *checked.record.beside)}
    digests[names.MANIFEST] = checked.record.bundle
    count = Meter(sink, "importing", sum(e.bytes for e in checked.manifest.files)).add
    links: dict[str, str] = {}
    with refusing(file):
        for entry in entries(cast("IO[bytes]", Reading(source, lambda _size: None))):
            name = entry.member.name.partition("/")[2]
            if entry.member.link:
                links[name] = entry.member.link
            elif entry.member.is_folder:
                (folder / name).mkdir(exist_ok=True)
                (folder / name).chmod(0o755)
            elif name not in _NOT_WRITTEN:
                _write(entry, folder / name, digests.get(name, ""))
                count(entry.size)
    for name, text in links.items():
        (folder / name).symlink_to(text)
    if left := thin_of(checked):
        write_whole(folder / "thin.json", canonical.pretty(left))


def thin_of(checked: Checked) -> Thin | None:
    """What was left out, or None when nothing was."""
    layers = checked.record.image.left_out if checked.record.image else []
    files = checked.record.left_out
    return Thin(files=files, layers=layers) if files or layers else None


def keep_layers(source: IO[bytes], file: str, checked: Checked, blobs: oci.Blobs, sink: Sink) -> oci.OciImage:
    """The image with its layers from the cache, where those of the file are put first.

    Layers that were left out and are not in the cache have no path.

    Raises:
        import-refused: the file is not the one any more that was checked.
    """
    content, found = checked.manifest.image, checked.image
    if content is None or found is None:
        raise ValueError(f"`{file}` has no image")
    if not all(blobs.find(layer.digest) for layer in found.layers):
        total = sum(layer.bytes for layer in found.layers)
        with refusing(file):
            for entry in entries(cast("IO[bytes]", Reading(source, lambda _size: None))):
                if entry.member.name == f"{checked.top}/{names.IMAGE}":
                    image.layers(entry.data, content, blobs, Meter(sink, "unpacking", total).add)
    for data in (found.config, found.manifest):
        blobs.put(data)
    held = tuple(blobs.find(layer.digest) or layer for layer in found.layers)
    return oci.OciImage(found.config, found.manifest, held)


def _write(entry: Entry, path: Path, sha256: str) -> None:
    with path.open("xb") as out:
        if copy(entry.data, out) != sha256:
            raise RefusedError(f"{path.name!a} was changed while the file was read")
    path.chmod(0o755 if entry.member.executable else 0o644)
