"""Files by the digest of their content, in the cache. Only whole, checked ones get their name."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from repro.files import link_or_copy, raise_if_full, sha256_bytes

_PIECE = 1 << 20


@dataclass(frozen=True)
class Blob:
    """Some bytes: digest as `sha256:HEX`, their number, and where they lie; None when they are not here."""

    digest: str
    bytes: int
    path: Path | None = None


class Writing:
    """A blob that is being written; `blob` is there once the block around it has ended well."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._digest = hashlib.sha256()
        self._count = 0
        self.blob: Blob

    def write(self, data: bytes) -> int:
        """Add bytes, and say how many."""
        self._digest.update(data)
        self._count += len(data)
        return self._out.write(data)

    @property
    def digest(self) -> str:
        """Of what was written so far."""
        return f"sha256:{self._digest.hexdigest()}"

    @property
    def count(self) -> int:
        """Bytes written so far."""
        return self._count


class Blobs:
    """The blobs of one cache. Several processes may use it at once: they write aside and rename."""

    def __init__(self, cache: Path) -> None:
        self.folder = cache / "blobs" / "sha256"

    def find(self, digest: str) -> Blob | None:
        """The blob of that digest, marked as used now, or None when it is not held."""
        path = self._path(digest)
        try:
            size = path.stat().st_size
            os.utime(path)  # `repro prune` takes the ones first that were not used for longest
        except OSError:
            return None
        return Blob(digest, size, path)

    @contextmanager
    def adding(self, expected: str = "") -> Iterator[Writing]:
        """Write a blob, which gets its name when the block ends well; `expected` is its digest, where known.

        Raises:
            ValueError: the content has another digest than expected; nothing is kept.
            disk-full: no space is left; nothing is kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=f".part-{os.getpid()}-", dir=self.folder)
        try:
            with os.fdopen(fd, "wb", buffering=_PIECE) as out:
                writing = Writing(out)
                yield writing
                if expected and writing.digest != expected:
                    raise ValueError(f"content has digest {writing.digest}, not {expected}")
                out.flush()
                os.fsync(fd)
            path = self._path(writing.digest)
            Path(name).chmod(0o644)
            os.replace(name, path)
            writing.blob = Blob(writing.digest, writing.count, path)
        except BaseException as problem:
            Path(name).unlink(missing_ok=True)
            raise_if_full(problem, self.folder)
            raise

    def put(self, data: bytes) -> Blob:
        """Keep some bytes."""
        found = self.find(f"sha256:{sha256_bytes(data)}")
        if found:
            return found
        with self.adding() as writing:
            writing.write(data)
        return writing.blob

    def take(self, source: IO[bytes], expected: str = "") -> Blob:
        """Keep what a stream holds up to its end; raises as `adding`."""
        with self.adding(expected) as writing:
            while piece := source.read(_PIECE):
                writing.write(piece)
        return writing.blob

    def adopt(self, path: Path, digest: str) -> Blob:
        """Take over a file of this cache, written to disk and checked, as the blob of that digest."""
        target = self._path(digest)
        self.folder.mkdir(parents=True, exist_ok=True)
        path.chmod(0o644)
        os.replace(path, target)
        return Blob(digest, target.stat().st_size, target)

    def give(self, blob: Blob, target: Path) -> None:
        """Put a held blob at `target`, using no space twice where the file system allows it."""
        link_or_copy(cast("Path", blob.path), target)

    def _path(self, digest: str) -> Path:
        kind, _, name = digest.partition(":")
        if kind != "sha256" or len(name) != 64 or name.strip("0123456789abcdef"):
            raise ValueError(f"`{digest}` is no digest")
        return self.folder / name
