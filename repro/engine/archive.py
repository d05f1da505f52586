"""An image archive of one layer, the same bytes for the same root file system.

The engine's own `import` stamps the time into the image, so that two imports of one tar
differ. Here configuration, manifest and archive are written by hand. The archive is an OCI
layout that also carries `manifest.json`: every engine tried loads that form.
"""

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from repro.model import canonical
from repro.tarball import EPOCH

_PIECE = 1 << 20
_CREATED = "1980-01-01T00:00:00Z"
_MEDIA = "application/vnd.oci.image"


@dataclass(frozen=True)
class Layer:
    """An uncompressed layer: where its bytes are, hex SHA-256 of them, their number."""

    source: IO[bytes]
    sha256: str
    bytes: int


@dataclass(frozen=True)
class ImageArchive:
    """What identifies the image: id on classic stores, id on containerd stores, the layer's diff id."""

    config_id: str
    manifest_id: str
    diff_id: str
    pieces: Iterator[bytes]


@contextmanager
def layer_of(root: IO[bytes]) -> Iterator[Layer]:
    """A root file system tar with its digest; one that cannot be read twice is copied aside first."""
    if root.seekable():
        yield _measured(root)
        return
    with tempfile.TemporaryFile() as aside:
        shutil.copyfileobj(root, aside, _PIECE)
        yield _measured(aside)


def _measured(root: IO[bytes]) -> Layer:
    root.seek(0)
    digest, size = hashlib.sha256(), 0
    while piece := root.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    root.seek(0)
    return Layer(root, digest.hexdigest(), size)


def one_layer(layer: Layer, tag: str, config: Mapping[str, object], architecture: str) -> ImageArchive:
    """An archive with an image of that layer.

    `config` is the image's object of that name in OCI's words (Env, Cmd, Labels, …),
    `architecture` as OCI names it, `amd64`.
    """
    diff_id = f"sha256:{layer.sha256}"
    image = canonical.encode(
        {
            "architecture": architecture,
            "os": "linux",
            "created": _CREATED,
            "config": dict(config),
            "rootfs": {"type": "layers", "diff_ids": [diff_id]},
            "history": [{"created": _CREATED, "created_by": "repro base create"}],
        }
    )
    config_id = _digest(image)
    manifest = canonical.encode(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor("config.v1+json", config_id, len(image)),
            "layers": [_descriptor("layer.v1.tar", diff_id, layer.bytes)],
        }
    )
    small = _small_files(tag, image, manifest, diff_id)
    return ImageArchive(config_id, _digest(manifest), diff_id, _archive(small, layer))


def _small_files(tag: str, image: bytes, manifest: bytes, diff_id: str) -> dict[str, bytes]:
    entry = _descriptor("manifest.v1+json", _digest(manifest), len(manifest))
    short = tag.rpartition(":")[2]
    entry["annotations"] = {
        "io.containerd.image.name": full_name(tag),
        "org.opencontainers.image.ref.name": short,
    }
    classic = [{"Config": _blob(_digest(image)), "RepoTags": [tag], "Layers": [_blob(diff_id)]}]
    return {
        _blob(_digest(image)): image,
        _blob(_digest(manifest)): manifest,
        "index.json": canonical.encode({"schemaVersion": 2, "manifests": [entry]}),
        "manifest.json": canonical.encode(classic),
        "oci-layout": canonical.encode({"imageLayoutVersion": "1.0.0"}),
    }


def full_name(tag: str) -> str:
    """A tag with the registry and the folder that engines take for granted."""
    first, slash, _rest = tag.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return tag
    return f"docker.io/{tag}" if slash else f"docker.io/library/{tag}"


def _descriptor(kind: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": digest, "size": size}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _archive(small: dict[str, bytes], layer: Layer) -> Iterator[bytes]:
    for name, data in sorted(small.items()):
        yield _header(name, len(data)) + data + _padding(len(data))
    yield _header(_blob(f"sha256:{layer.sha256}"), layer.bytes)
    while piece := layer.source.read(_PIECE):
        yield piece
    yield _padding(layer.bytes) + bytes(2 * tarfile.BLOCKSIZE)


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, EPOCH, 0o644
    return info.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)
