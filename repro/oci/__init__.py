"""Images as data: blobs by digest, configuration and manifest, the archive that engines load and save."""

from repro.oci.archive import pieces
from repro.oci.blobs import Blob, Blobs
from repro.oci.image import OciImage, make

__all__ = ["Blob", "Blobs", "OciImage", "make", "pieces"]
