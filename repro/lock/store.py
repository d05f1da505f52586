"""Files of locks by their content: `wheels/SHA256/NAME` in the cache; downloads go on where they stopped."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from repro.errors import ReproError
from repro.events import Note, Progress, Sink
from repro.files import alone, raise_if_full, sha256_file
from repro.lock.index import Offer
from repro.lock.web import FAILURES, Missing, Reply, Web, split_login

_PIECE = 1 << 20


@dataclass(frozen=True)
class Held:
    """A file in the cache whose content was checked."""

    path: Path
    sha256: str
    bytes: int


class Store:
    """The content-addressed folder of one cache."""

    def __init__(self, cache: Path) -> None:
        self._wheels = cache / "wheels"
        self._partial = cache / "partial"

    def find(self, sha256: str, file: str) -> Held | None:
        """A file that the cache holds; only whole files get that name."""
        path = self._wheels / sha256 / file
        return Held(path, sha256, path.stat().st_size) if sha256 and path.is_file() else None

    def keep(self, path: Path, file: str) -> Held:
        """Copy a file of this machine into the cache, under its digest."""
        return self._move(self._copied(path, file, lambda _done: None), file, "")

    def fetch(self, offer: Offer, web: Web, told: Callable[[int], None]) -> Held:
        """The offered file, from the cache, this machine or its address; `told` gets the bytes so far.

        Raises:
            lock-hash-mismatch: the content is not what the index says; it is thrown away.
        """
        held = self.find(offer.sha256, offer.file)
        if held:
            told(held.bytes)
            return held
        if offer.path:
            return self._move(self._copied(offer.path, offer.file, told), offer.file, offer.sha256)
        part = self._partial / f"{hashlib.sha256(_address(offer).encode()).hexdigest()}.part"
        # Two builds that fetch one file would write into each other's.
        with _writing(part), alone(part):
            held = self.find(offer.sha256, offer.file)
            if held is None:
                self._download(offer, web, part, told)
                held = self._move(part, offer.file, offer.sha256)
        return held

    def _copied(self, source: Path, file: str, told: Callable[[int], None]) -> Path:
        part = self._partial / f"{os.getpid()}-{file}"
        with _writing(part), source.open("rb") as f, part.open("wb") as out:
            while piece := f.read(_PIECE):
                out.write(piece)
                told(out.tell())
        return part

    def _download(self, offer: Offer, web: Web, part: Path, told: Callable[[int], None]) -> None:
        start = part.stat().st_size if part.is_file() else 0
        if offer.bytes and start >= offer.bytes:
            return  # a kill came between the last byte and the check
        reply = web.open(offer.url.split("#")[0], start=start)
        goes_on = start and reply.status == 206
        try:
            with part.open("ab" if goes_on else "wb") as out:
                for piece in _pieces(reply, offer, part):
                    out.write(piece)
                    told(out.tell())
        finally:
            reply.close()
        if offer.bytes and part.stat().st_size < offer.bytes:
            raise _cut_off(offer, part.stat().st_size)

    def _move(self, part: Path, file: str, expected: str) -> Held:
        found = sha256_file(part)
        if expected and found != expected:
            part.unlink()
            raise ReproError(
                "lock-hash-mismatch",
                f"`{file}` is not the file that its index describes",
                found=f"sha256 {found}",
                needs=f"sha256 {expected}",
                done="the file was thrown away",
                tries=["repro lock", "name another index, if this one keeps serving it"],
            )
        target = self._wheels / found / file
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("rb") as f:
            os.fsync(f.fileno())
        os.replace(part, target)
        return Held(target, found, target.stat().st_size)


class _writing:  # noqa: N801 - reads as a statement
    """A block that writes into the partial folder: a full disk becomes an error with words."""

    def __init__(self, part: Path) -> None:
        self._part = part
        part.parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> None:
        if problem is not None:
            raise_if_full(problem, self._part)


def _address(offer: Offer) -> str:
    return split_login(offer.url.split("#")[0])[0]


def _pieces(reply: Reply, offer: Offer, part: Path) -> Iterator[bytes]:
    try:
        while piece := reply.read(_PIECE):
            yield piece
    except FAILURES as problem:
        raise _cut_off(offer, part.stat().st_size) from problem


def _cut_off(offer: Offer, got: int) -> ReproError:
    return ReproError(
        "lock-download-cut",
        f"the download of `{offer.file}` ended early",
        found=f"{got} of {offer.bytes or 'an unknown number of'} bytes",
        done="what has arrived is kept; the next try goes on from there",
        tries=["repro lock"],
    )


def announce(offers: list[Offer], store: Store, web: Web, sink: Sink) -> dict[str, int]:
    """Say how much will be downloaded, before it is; returns bytes by file name (0 where no server tells)."""
    remote = [o for o in offers if o.path is None and store.find(o.sha256, o.file) is None]
    sizes = {o.file: o.bytes or _asked(o, web) for o in remote}
    if remote:
        total = sum(sizes.values())
        unknown = sum(1 for size in sizes.values() if not size)
        more = f" and {unknown} of unknown size" if unknown else ""
        hosts = ", ".join(sorted({urlsplit(o.url).hostname or "?" for o in remote}))
        here = len(offers) - len(remote)
        size = f"{total / 1e6:.1f} MB{more}"
        text = f"{len(remote)} files to download, {size}, from {hosts}; {here} are on this machine"
        sink(Note("note", text))
    return sizes


def _asked(offer: Offer, web: Web) -> int:
    try:
        reply = web.open(offer.url.split("#")[0], method="HEAD")
    except (Missing, ReproError):
        return 0
    size = reply.headers.get("Content-Length", "")
    reply.close()
    return int(size) if size.isdigit() else 0


def fetch_all(offers: list[Offer], store: Store, web: Web, sink: Sink) -> dict[str, Held]:
    """Every offered file, checked, by file name; progress in bytes over all of them."""
    sizes = announce(offers, store, web, sink)
    total = sum(sizes.values()) + sum(o.path.stat().st_size for o in offers if o.path)
    before, held = 0, {}
    for offer in offers:
        start = before

        def told(done: int, start: int = start, what: str = offer.file) -> None:
            sink(Progress(what, start + done, max(total, start + done), "B"))

        held[offer.file] = store.fetch(offer, web, told)
        before += held[offer.file].bytes
    return held
