"""Takes the layers out of an archive that an engine saved, whichever form it has.

Docker 20.10 writes folders with `layer.tar`, newer engines an OCI layout, with layers compressed where the
image was pulled that way. A layer is known by the digest of its uncompressed bytes, so the names do not
matter.
"""

import gzip
import io
import tarfile
from collections.abc import Collection
from typing import IO, Any, cast

from repro.oci.blobs import Blob, Blobs

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 20


def take_layers(archive: IO[bytes], wanted: Collection[str], blobs: Blobs) -> dict[str, Blob]:
    """The layers, configurations and manifests of those digests that the archive holds, kept in `blobs`.

    Raises:
        ValueError: it is no archive, or a compressed layer is damaged.
    """
    found: dict[str, Blob] = {}
    try:
        with tarfile.open(fileobj=archive, mode="r|") as tar:
            for member in tar:
                data = tar.extractfile(member) if member.isreg() else None
                if data and (blob := _layer(data, wanted, blobs)):
                    found[blob.digest] = blob
    except (tarfile.TarError, EOFError, OSError) as problem:
        raise ValueError(f"the engine's archive cannot be read: {problem}") from problem
    return found


def _layer(data: IO[bytes], wanted: Collection[str], blobs: Blobs) -> Blob | None:
    """One member kept, when it is wanted."""
    reader = io.BufferedReader(cast("Any", data), _PIECE)
    plain = _uncompressed(reader)
    first = plain.read(_PIECE)
    if not first:
        return None
    try:
        with blobs.adding() as writing:
            writing.write(first)
            while piece := plain.read(_PIECE):
                writing.write(piece)
            if writing.end() not in wanted:
                raise _OtherError
    except _OtherError:
        return None
    return writing.blob


class _OtherError(Exception):
    """It is none of the wanted layers."""


def _uncompressed(reader: Any) -> IO[bytes]:
    start = reader.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=reader))
    if start == _ZSTD:
        import zstandard

        return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(reader))
    return cast("IO[bytes]", reader)
