"""Files by the digest of their content, in the cache. Only whole, checked ones get their name."""

import contextlib
import hashlib
import os
import queue
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from repro.files import link_or_copy, raise_if_full, sha256_bytes

_PIECE = 1 << 20
_AHEAD = 64  # pieces that may wait for their digest
_SYNC_BYTES = 64 << 20


@dataclass(frozen=True)
class Blob:
    """Some bytes: digest as `sha256:HEX`, their number, and where they lie; None when they are not here."""

    digest: str
    bytes: int
    path: Path | None = None


class Writing:
    """A blob that is being written; `blob` is there once the block around it has ended well.

    Its digest is taken, and its bytes brought to the disk, by a thread beside the one that writes.
    """

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._digest = hashlib.sha256()
        self._gathered = bytearray()  # small writes are many: headers and padding of each file
        self._pieces: queue.Queue[bytes | None] = queue.Queue(_AHEAD)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        self._ended = False
        self.count = 0
        self.blob: Blob

    def write(self, data: bytes) -> int:
        """Add bytes, and say how many."""
        self.count += len(data)
        self._gathered += data
        if len(self._gathered) >= _PIECE:
            self._hand_on()
        return len(data)

    def end(self) -> str:
        """The digest of all that was written; nothing can be added after."""
        if not self._ended:
            self._ended = True
            self._hand_on()
            self._pieces.put(None)
            self._thread.join()
        return f"sha256:{self._digest.hexdigest()}"

    def _hand_on(self) -> None:
        piece = bytes(self._gathered)
        self._gathered.clear()
        self._pieces.put(piece)
        self._out.write(piece)

    def _follow(self) -> None:
        unsynced = 0
        while (piece := self._pieces.get()) is not None:
            self._digest.update(piece)
            unsynced += len(piece)
            if unsynced >= _SYNC_BYTES:
                with contextlib.suppress(OSError):  # the last sync tells what is wrong
                    os.fdatasync(self._out.fileno())
                unsynced = 0


class Blobs:
    """The blobs of one cache. Several processes may use it at once: they write aside and rename."""

    def __init__(self, cache: Path) -> None:
        self.folder = cache / "blobs" / "sha256"

    def find(self, digest: str) -> Blob | None:
        """The blob of that digest, marked as used now, or None when it is not held."""
        path = self._path(digest)
        try:
            size = path.stat().st_size
        except OSError:
            return None
        with contextlib.suppress(OSError):  # a cache that may only be read is one, too
            os.utime(path)  # what was not used for longest goes first
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
                try:
                    yield writing
                finally:
                    digest = writing.end()
                if expected and digest != expected:
                    raise ValueError(f"content has digest {digest}, not {expected}")
                out.flush()
                os.fsync(fd)
            path = self._path(digest)
            Path(name).chmod(0o644)
            os.replace(name, path)
            writing.blob = Blob(digest, writing.count, path)
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
