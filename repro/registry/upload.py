"""Sends one blob in pieces. Where it stopped, the next try goes on, in this process or in a later one.

After each piece the registry names the address for the next one; that is noted in the cache. Docker's own
registry (2.8) forgets an upload whose piece was cut, so an interrupt waits for the end of the piece.
"""

from pathlib import Path
from threading import Event
from time import sleep
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

import msgspec

from repro.errors import ReproError
from repro.events import Meter, Sink
from repro.files import alone, sha256_bytes, write_whole
from repro.oci import Blob
from repro.registry import failures
from repro.registry.connection import Body, Connection
from repro.registry.leftovers import forget_old, noted
from repro.registry.patience import PASSING
from repro.registry.piece import Part, unbroken

if TYPE_CHECKING:
    from requests import Response

PIECE = 64 << 20
_LEAST = 1 << 20
_TRIES = 6
_PIECEWISE = 3  # tries after which a registry that seems to know no pieces gets the blob in one
_LOST = (400, 404, 416)
_BYTES = "application/octet-stream"


class _Lost(Exception):  # noqa: N818 - a turn of events
    """The registry knows another state of this upload, or none; `error` is raised if that stays so."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Uploads:
    """Sends blobs to one repository; notes go below `cache`, and a request has `piece` bytes at most."""

    def __init__(
        self, connection: Connection, cache: Path, sink: Sink, meter: Meter, piece: int = PIECE
    ) -> None:
        self.connection, self.sink, self.meter, self.piece = connection, sink, meter, piece
        self._notes = cache / "registry" / "uploads"
        self._notes.mkdir(parents=True, exist_ok=True)
        self._notes.chmod(0o700)  # an address may be a key to the registry's storage
        forget_old(self._notes)

    def send(self, blob: Blob) -> bool:
        """Make sure that the registry has the blob; True when it had to be sent.

        Raises:
            registry-content: the registry counts another digest than ours: the file changed.
            registry-…: as `Connection.ask`.
        """
        place = f"{self.connection.reference.place} {blob.digest}"
        note = self._notes / f"{sha256_bytes(place.encode())}.json"
        with alone(note):  # of two pushes of one blob at once, the second finds that it is there
            if there := self.has(blob):
                self.meter.skip(blob.bytes)
            else:
                self._send(blob, note)
            note.unlink(missing_ok=True)
        return not there

    def _send(self, blob: Blob, note: Path) -> None:
        with _path(blob).open("rb") as source:
            unbroken(_Upload(self, blob, source, note).run, self.sink)

    def has(self, blob: Blob) -> bool:
        """Whether the registry has the blob in this repository."""
        reply = self.connection.ask(
            "HEAD", f"blobs/{blob.digest}", f"looking for `{blob.digest}`", expect=(200, 404)
        )
        return reply.status_code == 200


class _Upload:
    """One upload, from where it stands to its end."""

    def __init__(self, uploads: Uploads, blob: Blob, source: IO[bytes], note: Path) -> None:
        self._u, self._blob, self._source, self._note = uploads, blob, source, note
        self._what = f"sending `{blob.digest}`"
        self._url, self._offset, self._counted = "", 0, 0
        self._piece, self._faults, self._begun = uploads.piece, 0, 0

    def run(self, stop: Event) -> None:
        """Send what the registry lacks, or as much as it takes until `stop` is set."""
        self._url = noted(self._note)
        while not stop.is_set():
            try:
                self._resume()
                while self._offset < self._blob.bytes and not stop.is_set():
                    self._send_piece()
                if not stop.is_set():
                    self._finish()
                return
            except _Lost as lost:
                self._note.unlink(missing_ok=True)
                self._url = ""
                self._begun += 1
                if self._begun == _TRIES:
                    raise lost.error from None
                if self._begun >= _PIECEWISE:
                    self._piece = self._blob.bytes

    def _resume(self) -> None:
        """Ask for the offset of an upload that was begun, or begin one."""
        if self._url:
            reply = self._u.connection.ask("GET", self._url, self._what, expect=(204, 403, 410, *_LOST))
            if reply.status_code == 204:
                return self._stands(reply)
        reply = self._u.connection.ask("POST", "blobs/uploads/", self._what, expect=(202,))
        least = reply.headers.get("OCI-Chunk-Min-Length", "")
        self._piece = max(self._piece, int(least)) if least.isdigit() else self._piece
        return self._stands(reply)

    def _stands(self, reply: "Response", assumed: int = 0) -> None:
        """Take the next address and the offset from an answer, and note the address.

        `assumed` is the offset where the answer names none. `0-0` stands for nothing as well as for one byte.
        """
        self._url = self._u.connection.address(reply)
        last = reply.headers.get("Range", "").rpartition("-")[2]
        if not last.isdigit():
            self._offset = assumed
        elif last == "0":
            self._offset = 1 if assumed == 1 else 0
        else:
            self._offset = int(last) + 1
        if self._offset > self._blob.bytes:
            raise _Lost(self._u.connection.refused(reply, self._what))
        self._u.meter.skip(self._offset - self._counted)
        self._counted = self._offset
        write_whole(self._note, msgspec.json.encode({"address": self._url}))

    def _send_piece(self) -> None:
        size = min(self._piece, self._blob.bytes - self._offset)
        headers = {
            "Content-Type": _BYTES,
            "Content-Range": f"{self._offset}-{self._offset + size - 1}",
            "Content-Length": str(size),
        }
        start = self._offset
        reply = self._ask("PATCH", self._url, headers, lambda: Part(self._source, start, size, self._told))
        if reply is None:
            return self._resume()
        if reply.status_code == 202:
            self._faults = 0
            self._stands(reply, start + size)
            if self._offset > start:
                return None
            raise _Lost(self._u.connection.refused(reply, self._what))
        if reply.status_code == 413 and self._piece > _LEAST:
            self._piece //= 2
            reply.close()
            return self._resume()
        raise self._u.connection.refused(reply, self._what)

    def _told(self, count: int) -> None:
        self._counted += count
        self._u.meter.add(count)

    def _finish(self) -> None:
        sign = "&" if "?" in self._url else "?"
        url = f"{self._url}{sign}digest={quote(self._blob.digest)}"
        reply = self._ask("PUT", url, {"Content-Type": _BYTES, "Content-Length": "0"}, bytes)
        if reply is None:
            if not self._u.has(self._blob):
                raise _Lost(self._u.connection.unreachable(OSError("it did not keep the blob"), self._what))
        elif reply.status_code != 201:
            raise self._u.connection.refused(reply, self._what)

    def _ask(self, method: str, url: str, headers: dict[str, str], body: Body) -> "Response | None":
        """The answer, or None when none came, or one of a fault that may pass.

        Raises:
            _Lost: the registry knows another offset, or no such upload.
        """
        from requests import RequestException

        connection = self._u.connection
        try:
            reply = connection.ask(method, url, self._what, headers=headers, body=body, once=True)
        except RequestException as problem:
            self._fault(connection.unreachable(problem, self._what))
            return None
        if "DIGEST_INVALID" in failures.codes(reply):
            self._note.unlink(missing_ok=True)
            raise _changed(self._blob)
        if reply.status_code in _LOST:
            raise _Lost(connection.refused(reply, self._what))
        if reply.status_code in PASSING:
            self._fault(connection.refused(reply, self._what))
            return None
        return reply

    def _fault(self, error: Exception) -> None:
        """Wait for a fault to pass, longer each time; without progress the error is raised in the end."""
        self._faults += 1
        if self._faults >= _TRIES:
            raise error
        sleep(2.0 ** (self._faults - 2))


def _path(blob: Blob) -> Path:
    if blob.path is None:
        raise ValueError(f"{blob.digest} is not here")
    return blob.path


def _changed(blob: Blob) -> ReproError:
    name = blob.path.name if blob.path else blob.digest
    return ReproError(
        "registry-content",
        f"`{name}` is not what it was when the push began",
        found="the registry counted another digest of what it was sent",
        needs=blob.digest,
        done="the registry keeps nothing of it; no tag was set",
        tries=["repro verify", "run the same command again"],
    )
