"""Fetches blobs into the cache. What has arrived of one is kept, and the next try asks for the rest."""

import hashlib
import os
import re
from pathlib import Path
from time import sleep
from typing import IO, TYPE_CHECKING

from repro.errors import ReproError
from repro.events import Meter
from repro.files import alone, raise_if_full, sha256_bytes
from repro.oci import Blob, Blobs
from repro.registry.connection import Connection
from repro.registry.leftovers import forget_old

if TYPE_CHECKING:
    from requests import Response

_PIECE = 1 << 16  # what is lost of an answer that is cut
_TRIES = 6
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_AS_IT_IS = {"Accept-Encoding": "identity"}


class Downloads:
    """Fetches from one repository into one cache."""

    def __init__(self, connection: Connection, cache: Path, meter: Meter) -> None:
        self.connection, self.meter = connection, meter
        self.blobs = Blobs(cache)
        self._parts = cache / "registry" / "downloads"
        forget_old(self._parts)

    def fetch(self, digest: str, size: int) -> Blob:
        """The blob, held or fetched; its content has that digest.

        Raises:
            registry-content: what came is something else. disk-full: no space is left.
            registry-…: as `Connection.ask`.
        """
        check_digest(digest)
        part = self._parts / digest.removeprefix("sha256:")
        with alone(part):  # of two that want the same, the second finds what the first fetched
            held = self.blobs.find(digest)
            if held and held.bytes == size:
                self.meter.skip(size)
                return held
            try:
                return self._fetch(part, digest, size)
            except OSError as problem:
                raise_if_full(problem, part)
                raise

    def _fetch(self, part: Path, digest: str, size: int) -> Blob:
        begun = part.exists()
        with part.open("ab+") as out:
            got = _Arriving(self, out, digest, size).run()
            if got != digest and begun:  # what an earlier try left was no good
                self.meter.skip(-size)
                out.truncate(0)
                got = _Arriving(self, out, digest, size).run()
            out.flush()
            os.fsync(out.fileno())
        if got != digest:
            part.unlink()
            raise foreign(f"blob `{digest}`", f"digest {got}", f"digest {digest}")
        return self.blobs.adopt(part, digest)

    def small(self, digest: str, size: int, most: int) -> bytes:
        """A blob of at most `most` bytes, read into memory; raises as `fetch`."""
        check_digest(digest)
        if size > most:
            raise foreign(f"blob `{digest}`", f"{size} bytes", f"at most {most} bytes")
        reply = self.connection.ask(
            "GET", f"blobs/{digest}", f"fetching `{digest}`", headers=_AS_IT_IS, stream=True
        )
        data = read_at_most(reply, size + 1)
        found = f"sha256:{sha256_bytes(data)}"
        if found != digest:
            raise foreign(f"blob `{digest}`", f"digest {found}", f"digest {digest}")
        self.meter.add(len(data))
        return data


class _Arriving:
    """One blob on its way into a file that may hold its beginning."""

    def __init__(self, downloads: Downloads, out: IO[bytes], digest: str, size: int) -> None:
        self._d, self._out, self._digest_wanted, self._size = downloads, out, digest, size
        self._what = f"fetching `{digest}`"
        self._digest = hashlib.sha256()
        self._have = 0

    def run(self) -> str:
        """Fetch what is missing; the digest of all of it."""
        from requests import RequestException

        self._take_stock()
        faults = 0
        while self._have < self._size:
            before = self._have
            try:
                self._ask()
            except RequestException as problem:
                faults = 0 if self._have > before else faults + 1
                if faults >= _TRIES:
                    raise self._d.connection.unreachable(problem, self._what) from None
                sleep(2.0 ** (faults - 2))
        return f"sha256:{self._digest.hexdigest()}"

    def _take_stock(self) -> None:
        self._out.seek(0)
        while piece := self._out.read(_PIECE):
            self._digest.update(piece)
            self._have += len(piece)
        if self._have > self._size:
            self._start_over()
        self._d.meter.skip(self._have)

    def _start_over(self) -> None:
        self._out.truncate(0)
        self._digest, self._have = hashlib.sha256(), 0

    def _ask(self) -> None:
        headers = dict(_AS_IT_IS)
        if self._have:
            headers["Range"] = f"bytes={self._have}-"
        reply = self._d.connection.ask(
            "GET",
            f"blobs/{self._digest_wanted}",
            self._what,
            expect=(200, 206, 416),
            headers=headers,
            stream=True,
        )
        with reply:
            if self._have and not _goes_on(reply, self._have):
                self._d.meter.skip(-self._have)
                self._start_over()
            if reply.status_code != 416:
                self._take(reply)

    def _take(self, reply: "Response") -> None:
        for piece in reply.iter_content(_PIECE):
            if self._have + len(piece) > self._size:
                raise foreign(f"blob `{self._digest_wanted}`", "more bytes than that", f"{self._size} bytes")
            self._out.write(piece)
            self._digest.update(piece)
            self._have += len(piece)
            self._d.meter.add(len(piece))


def _goes_on(reply: "Response", start: int) -> bool:
    """Whether an answer begins where it was asked to; some servers send everything instead."""
    return reply.status_code == 206 and reply.headers.get("Content-Range", "").startswith(f"bytes {start}-")


def check_digest(digest: str) -> None:
    """Raise registry-content for what is no digest: it becomes a part of addresses and of paths."""
    if not _DIGEST.fullmatch(digest):
        raise foreign("a digest", f"{digest!a}", "sha256: and 64 hexadecimal digits")


def read_at_most(reply: "Response", most: int) -> bytes:
    """The body of an answer, cut at `most` bytes."""
    data = b""
    with reply:
        for piece in reply.iter_content(_PIECE):
            data += piece
            if len(data) >= most:
                break
    return data[:most]


def foreign(what: str, found: str, needs: str) -> ReproError:
    """The error for content that is not what its name or the manifest says."""
    return ReproError(
        "registry-content",
        f"{what} from the registry is not what it should be",
        found=found,
        needs=needs,
        done="nothing of it was kept or loaded",
        tries=["run the same command again", "repro push BUNDLE REFERENCE      (where the bundle lies)"],
    )
