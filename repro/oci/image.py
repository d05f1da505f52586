"""Configuration and manifest of an image, made from its layers: the same bytes for the same content.

Layers stand in the manifest uncompressed, since compressed bytes depend on who compressed them. The
configuration's digest is the image's id on Docker's classic stores and on Podman, the manifest's digest is
the id on containerd's store and in registries (OCI image specification 1.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.files import sha256_bytes
from repro.model import canonical
from repro.oci.blobs import Blob

MEDIA = "application/vnd.oci.image"
MANIFEST_TYPE = f"{MEDIA}.manifest.v1+json"
CONFIG_TYPE = f"{MEDIA}.config.v1+json"
LAYER_TYPE = f"{MEDIA}.layer.v1.tar"


@dataclass(frozen=True)
class OciImage:
    """An image as its bytes: configuration, manifest, layers from the lowest on."""

    config: bytes
    manifest: bytes
    layers: tuple[Blob, ...]

    @property
    def config_digest(self) -> str:
        """Id on classic stores and on Podman."""
        return digest_of(self.config)

    @property
    def manifest_digest(self) -> str:
        """Id on containerd's store, and digest in a registry."""
        return digest_of(self.manifest)

    @property
    def bytes(self) -> int:
        """Of all layers."""
        return sum(layer.bytes for layer in self.layers)


def make(
    config: Mapping[str, Any],
    layers: Sequence[Blob],
    *,
    architecture: str,
    created: str,
    history: Sequence[str],
) -> OciImage:
    """The image of those layers.

    Args:
        config: the object of that name in OCI's words (Env, Cmd, Labels, ...).
        layers: uncompressed, from the lowest on.
        architecture: as OCI names it, `amd64`.
        created: RFC 3339. Not 1970: engines prune by age, and such an image would be the oldest.
        history: what made each layer, one entry a layer.
    """
    data = canonical.encode(
        {
            "architecture": architecture,
            "os": "linux",
            "created": created,
            "config": dict(config),
            "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
            "history": [{"created": created, "created_by": text} for text in history],
        }
    )
    manifest = canonical.encode(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": descriptor(CONFIG_TYPE, digest_of(data), len(data)),
            "layers": [descriptor(LAYER_TYPE, layer.digest, layer.bytes) for layer in layers],
        }
    )
    return OciImage(data, manifest, tuple(layers))


def descriptor(kind: str, digest: str, size: int) -> dict[str, object]:
    """OCI's reference to a blob."""
    return {"mediaType": kind, "digest": digest, "size": size}


def digest_of(data: bytes) -> str:
    """`sha256:HEX`."""
    return f"sha256:{sha256_bytes(data)}"
