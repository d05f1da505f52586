"""The image inside an exported file: an engine's archive, compressed; held against the manifest when read."""

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from repro import oci, tarball
from repro.events import Meter, Sink
from repro.model.image import ImageContent
from repro.model.move import ExportedImage
from repro.move.stream import Count, Reading, Writing, copy
from repro.oci import archive
from repro.tarball import Member
from repro.tarread import Entry, RefusedError, entries

_LEVEL = 3  # levels above take ten times as long for a sixth less
_WINDOW = 1 << 23
_SMALL = 4 << 20
_HARMLESS, _RATIO = 1 << 30, 200
_BLOBS = "blobs/sha256/"


def compress(image: oci.OciImage, tag: str, held: int, target: Path, sink: Sink) -> tuple[int, str]:
    """Write the archive, without the lowest `held` layers, as one zstd frame; its size and hex SHA-256.

    One thread, and pieces of one size: the same library gives the same bytes.

    Raises:
        ValueError: a layer is not what its name says.
    """
    members = archive.members(image, tag, held)
    total = sum(layer.bytes for layer in image.layers[held:])

    def told(member: Member, sha256: str) -> None:
        if member.name.startswith(_BLOBS) and member.name != _BLOBS + sha256:
            raise ValueError(f"layer {member.name} has sha256 {sha256}")

    with target.open("wb") as out:
        made = Writing(out, lambda _size: None)
        frame = ZstdCompressor(level=_LEVEL, write_checksum=True, threads=0)
        with frame.stream_writer(cast("IO[bytes]", made), closefd=False) as inner:
            counted = Writing(cast("IO[bytes]", inner), Meter(sink, "compressing", total).add)
            tarball.write(cast("IO[bytes]", counted), members, told)
        out.flush()
        os.fsync(out.fileno())
    return made.bytes, made.sha256


@contextmanager
def unpacked(source: IO[bytes], content: ImageContent, count: Count) -> Iterator[Iterator[Entry]]:
    """The members of a compressed archive, which may unpack to what the manifest says, and to no more."""
    limit = sum(layer.bytes for layer in content.layers) + _SMALL * 4
    frame = ZstdDecompressor(max_window_size=_WINDOW)
    with frame.stream_reader(source, read_across_frames=True, closefd=False) as raw:
        over = "the image unpacks to more than its manifest says"
        bounded = Reading(cast("IO[bytes]", raw), count, limit, over)
        yield entries(cast("IO[bytes]", io.BufferedReader(bounded, 1 << 20)))


def check(source: IO[bytes], content: ImageContent, said: ExportedImage, count: Count) -> oci.OciImage:
    """The image of an archive whose every byte is what the manifest says; its layers' paths are None.

    Raises:
        RefusedError: it is not, and how. ZstdError: it is no zstd.
    """
    if (said.config, said.manifest) != (content.config, content.manifest):
        raise RefusedError("`export.json` names another image than `bundle.json`")
    held = len(said.left_out)
    if said.left_out != [layer.digest for layer in content.layers[:held]]:
        raise RefusedError("the layers that were left out are not the image's lowest")
    _check_ratio(sum(layer.bytes for layer in content.layers[held:]), said.bytes)
    sizes = {_BLOBS + layer.digest.removeprefix("sha256:"): layer.bytes for layer in content.layers}
    small: dict[str, bytes] = {}
    seen: set[str] = set()
    with unpacked(source, content, count) as members:
        for entry in members:
            name = entry.member.name
            seen.add(name)
            if name in sizes:
                _check_layer(entry, sizes[name])
            elif not entry.member.is_folder:
                small[name] = _small(entry)
    return _agree(content, said, small, seen)


def layers(source: IO[bytes], content: ImageContent, blobs: oci.Blobs, count: Count) -> None:
    """Keep the layers of a checked archive in the cache; raises RefusedError when it was changed since."""
    digests = {_BLOBS + layer.digest.removeprefix("sha256:"): layer.digest for layer in content.layers}
    with unpacked(source, content, count) as members:
        for entry in members:
            digest = digests.get(entry.member.name)
            if digest is None or blobs.find(digest):
                continue
            try:
                blobs.take(entry.data, digest)
            except ValueError as problem:
                raise RefusedError(f"it was changed while it was read: {problem}") from problem


def _check_ratio(size: int, packed: int) -> None:
    """Raise RefusedError for an archive that is small and fills a disk; real layers shrink to a third."""
    if size > max(_HARMLESS, _RATIO * packed):
        raise RefusedError(f"{packed} bytes of image unpack to {size}, more than {_RATIO} times as many")


def _check_layer(entry: Entry, size: int) -> None:
    name = entry.member.name
    if entry.size != size:
        raise RefusedError(f"layer {name} has {entry.size} bytes, not {size} as its manifest says")
    if (found := copy(entry.data)) != name.removeprefix(_BLOBS):
        raise RefusedError(f"layer {name} has sha256 {found}")


def _small(entry: Entry) -> bytes:
    if entry.member.link or entry.member.executable or entry.size > _SMALL:
        raise RefusedError(f"`{entry.member.name}` in the image is none of its parts")
    return entry.data.read()


def _agree(
    content: ImageContent, said: ExportedImage, small: dict[str, bytes], seen: set[str]
) -> oci.OciImage:
    """The image, when the archive is the one that this tool writes of it."""
    config, manifest = (small.get(_BLOBS + d.removeprefix("sha256:"), b"") for d in _digests(content))
    found = [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in (config, manifest)]
    if found != _digests(content):
        raise RefusedError("the image's configuration or manifest is not the one that `bundle.json` names")
    image = oci.OciImage(config, manifest, tuple(oci.Blob(a.digest, a.bytes) for a in content.layers))
    if _said_layers(image) != [[(blob.digest, blob.bytes) for blob in image.layers]] * 2:
        raise RefusedError("the image's own lists of layers are not that of `bundle.json`")
    wanted = archive.members(image, said.tag, len(said.left_out))
    if seen != {member.name for member in tarball.with_parents(wanted)}:
        raise RefusedError("the image's archive holds more or less than the image")
    if wrong := [m.name for m in wanted if isinstance(m.source, bytes) and small.get(m.name) != m.source]:
        raise RefusedError(f"`{wrong[0]}` of the image's archive says something else than the image")
    return image


def _digests(content: ImageContent) -> list[str]:
    return [content.config, content.manifest]


def _said_layers(image: oci.OciImage) -> list[list[tuple[object, object]]]:
    """What manifest and configuration say of the layers; sizes are the manifest's."""
    try:
        stated = msgspec.json.decode(image.manifest)
        rows = [(row["digest"], row["size"]) for row in stated["layers"]]
        ids = msgspec.json.decode(image.config)["rootfs"]["diff_ids"]
        own = stated["config"]["digest"] == image.config_digest
    except (msgspec.MsgspecError, KeyError, TypeError, RecursionError, UnicodeDecodeError):
        return []
    sizes = [size for _digest, size in rows]
    return [rows if own else [], list(zip(ids, sizes, strict=False)) if len(ids) == len(rows) else []]
