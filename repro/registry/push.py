"""Puts a manifest and what it names into a repository: blobs first, so that a tag never points to a part."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError
from repro.events import Meter, Sink, step
from repro.oci import Blob, Blobs, OciImage
from repro.oci.image import MANIFEST_TYPE, digest_of
from repro.registry.connection import Connection
from repro.registry.upload import PIECE, Uploads

_DIGEST = "Docker-Content-Digest"
ACCEPT = {"Accept": MANIFEST_TYPE}


@dataclass(frozen=True)
class Sent:
    """What stands in the registry now.

    Attributes:
        reference: with tag. digest: of the manifest.
        blobs, bytes: that had to be sent; `total` is the number of bytes of all of it.
        before: digest that the tag had before, when it was another one; else empty.
    """

    reference: str
    digest: str
    blobs: int
    bytes: int
    total: int
    before: str = ""


@dataclass(frozen=True)
class Pusher:
    """Pushes to one repository; notes of what is under way go below `cache`."""

    connection: Connection
    cache: Path
    sink: Sink
    piece: int = PIECE

    def image(self, image: OciImage, tag: str) -> Sent:
        """Push an image whose layers are all here; the registry's digest is that of its manifest."""
        config = Blobs(self.cache).put(image.config)
        return self.push("image", image.manifest, (config, *image.layers), tag)

    def push(self, what: str, manifest: bytes, blobs: Sequence[Blob], tag: str) -> Sent:
        """Send what the registry lacks, then the manifest under `tag`.

        Raises:
            registry-content: the registry took something else than was sent.
            registry-…: as `Connection.ask`.
        """
        digest, total = digest_of(manifest), len(manifest) + sum(blob.bytes for blob in blobs)
        with step(self.sink, f"push {what}") as shown:
            before = self._tagged(tag)
            meter = Meter(self.sink, f"pushing {what}", total)
            sent = 0
            if before != digest:
                uploads = Uploads(self.connection, self.cache, self.sink, meter, self.piece)
                sent = sum(uploads.send(blob) for blob in blobs)
                self._put(manifest, tag, digest)
            shown.cached = before == digest
            shown.detail = f"{digest[:19]}, {meter.moved / 1e6:,.1f} of {total / 1e6:,.1f} MB sent"
        reference = self.connection.reference.tagged(tag)
        return Sent(reference, digest, sent, meter.moved, total, before if before != digest else "")

    def _tagged(self, tag: str) -> str:
        """Digest of what has that tag, or empty."""
        reply = self.connection.ask(
            "HEAD", f"manifests/{tag}", f"looking for `{tag}`", expect=(200, 404), headers=ACCEPT
        )
        return reply.headers.get(_DIGEST, "") if reply.status_code == 200 else ""

    def _put(self, manifest: bytes, tag: str, digest: str) -> None:
        reply = self.connection.ask(
            "PUT",
            f"manifests/{tag}",
            f"setting the tag `{tag}`",
            expect=(201,),
            headers={"Content-Type": MANIFEST_TYPE},
            body=lambda: manifest,
        )
        if (found := reply.headers.get(_DIGEST, digest)) != digest:
            raise ReproError(
                "registry-content",
                f"registry `{self.connection.reference.host}` changed what it was sent",
                found=f"digest {found} under tag `{tag}`",
                needs=f"digest {digest}",
                tries=["use a registry that keeps manifests as they are"],
            )
