"""What an image is made of: layers with their roles, and the three digests by which it is known again."""

from typing import Literal

from repro.model.record import Record

Role = Literal["base", "system", "wheel", "env", "runtime", "eval", "code"]


class LayerRecord(Record, kw_only=True):
    """One uncompressed layer.

    Attributes:
        digest: `sha256:HEX` of its tar, which is its diff id; `bytes` of that tar.
        role: base image, Debian packages, one large wheel, the rest of the environment, the runtime, the
            evaluation set, the code with its parameters.
        holds: file names of the wheels in it.
    """

    digest: str
    bytes: int
    role: Role
    holds: list[str] = []


class ImageContent(Record, kw_only=True):
    """The image that a bundle's content gives, wherever it is made.

    Attributes:
        config: digest of the configuration; id on Docker's classic stores and on Podman.
        manifest: digest of the OCI manifest with uncompressed layers; id on containerd's store.
        tree: digest over every file below /opt/env and /opt/repro but compiled bytecode, which a plain
            `docker build` of the bundle's Dockerfile reproduces.
        layers: from the lowest on.
    """

    config: str
    manifest: str
    tree: str
    layers: list[LayerRecord]

    def names(self, image_id: str) -> bool:
        """Whether an engine's id means this image, on whichever kind of store."""
        return image_id in (self.config, self.manifest)
