"""The archive of an image: an OCI layout that also carries `manifest.json`, which every engine tried loads.

A thin one leaves out the lowest layers, which the receiving engine holds already.
"""

from collections.abc import Iterator

from repro import tarball
from repro.model import canonical
from repro.oci.image import MANIFEST_TYPE, OciImage, descriptor

_PIECE = 1 << 20


def members(image: OciImage, tag: str, leave_out: int = 0) -> list[tarball.Member]:
    """What the archive holds, without the lowest `leave_out` layers."""
    entry = descriptor(MANIFEST_TYPE, image.manifest_digest, len(image.manifest)) | {
        "annotations": {
            "io.containerd.image.name": full_name(tag),
            "org.opencontainers.image.ref.name": tag.rpartition(":")[2],
        }
    }
    layers = [_blob(layer.digest) for layer in image.layers]
    classic = [{"Config": _blob(image.config_digest), "RepoTags": [tag], "Layers": layers}]
    small = {
        _blob(image.config_digest): image.config,
        _blob(image.manifest_digest): image.manifest,
        "index.json": canonical.encode({"schemaVersion": 2, "manifests": [entry]}),
        "manifest.json": canonical.encode(classic),
        "oci-layout": canonical.encode({"imageLayoutVersion": "1.0.0"}),
    }
    sent = {_blob(layer.digest): layer.path for layer in image.layers[leave_out:]}
    return [tarball.Member(name, source) for name, source in {**small, **sent}.items()]


def pieces(image: OciImage, tag: str, leave_out: int = 0) -> Iterator[bytes]:
    """The archive in pieces; all layers that are not left out must be here."""
    return tarball.pieces(members(image, tag, leave_out))


def full_name(tag: str) -> str:
    """A tag with the registry and the folder that engines take for granted."""
    first, slash, _rest = tag.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return tag
    return f"docker.io/{tag}" if slash else f"docker.io/library/{tag}"


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"
