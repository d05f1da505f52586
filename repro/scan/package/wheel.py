"""A wheel read where it lies: each compiled member once, as a stream, nothing unpacked on disk."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from zipfile import ZipInfo

import msgspec

from repro.events import Progress, Sink, silent
from repro.files import sha256_file
from repro.model.binary import WheelFacts
from repro.scan.elf.layout import HEADER
from repro.scan.package.archive import Archive, archive, unreadable
from repro.scan.package.cache import facts_for, forgiving, keep
from repro.scan.package.candidates import may_be_compiled
from repro.scan.package.compiled import Compiled, from_stream, refused
from repro.scan.package.distribution import Distribution, said_in_metadata
from repro.scan.package.inflate import Member
from repro.scan.package.torchsaid import ARCH_LIST_FILE, VERSION_FILE
from repro.scan.reader import Unreadable

_LARGEST_TEXT = 1 << 20
_STEP = 8 << 20  # bytes between two reports of progress

Tick = Callable[[int], None]


def scan_wheel(path: Path, cache: Path, sink: Sink = silent, sha256: str = "") -> WheelFacts:
    """What the compiled files of a wheel say; read once, afterwards taken from the cache.

    Args:
        path: of the wheel.
        cache: folder of the tool's cache; names that a torch offers are kept there as well.
        sink: is told the bytes that were inflated.
        sha256: of the wheel, where the caller knows it, from a lock: else the file is read to compute it.

    Raises:
        wheel-unreadable: the wheel as a whole; a damaged member is a problem of that file alone.
    """
    sha256 = sha256 or _hashed(path)
    known = facts_for(sha256, cache)
    if known is not None:
        return msgspec.structs.replace(known, file=path.name)
    with archive(path) as wheel:
        found = _read(wheel, sink)
    found.sha256 = sha256
    facts = found.facts()
    with forgiving(path.name, sink):
        keep(facts, found.exports(), cache)
    return facts


def _hashed(path: Path) -> str:
    try:
        if not path.is_file():
            with archive(path):  # says what is there instead
                pass
        return sha256_file(path)
    except OSError as problem:
        raise unreadable(path, f"cannot be read: {problem.strerror}") from problem


def _read(wheel: Archive, sink: Sink) -> Distribution:
    name, version = said_in_metadata(_text(wheel, _metadata(wheel)))
    found = Distribution(name, version, wheel.path.name)
    members = [info for info in wheel.infos if may_be_compiled(info.filename)]
    tick = _ticker(sink, wheel.path.name, sum(info.file_size for info in members))
    before = 0
    for info in members:
        compiled = _member(wheel, info, found, partial(_further, tick, before))
        if compiled is not None:
            found.files.append(compiled)
        before += info.file_size
        tick(before)
    if name == "torch":
        found.version_file = _version_file(wheel)
    return found


def _member(wheel: Archive, info: ZipInfo, found: Distribution, tick: Tick) -> Compiled | None:
    try:
        member = wheel.open(info)
        head = member.read(0, HEADER)
    except Unreadable as problem:
        return refused(info.filename, info.file_size, problem)
    return from_stream(info.filename, head, _watched(member, found, tick), member)


def _watched(member: Member, found: Distribution, tick: Tick) -> Iterator[bytes]:
    """The chunks of a member, with others looking on."""
    has_list = found.name == "torch" and member.name == ARCH_LIST_FILE
    done = 0
    for chunk in member.chunks():
        if has_list:
            found.arch_list.feed(chunk)
        yield chunk
        done += len(chunk)
        tick(done)


def _metadata(wheel: Archive) -> ZipInfo:
    for info in wheel.infos:
        folder, _, name = info.filename.partition("/")
        if folder.endswith(".dist-info") and name == "METADATA":
            return info
    raise unreadable(wheel.path, "is a zip archive, but no wheel: it has no *.dist-info/METADATA")


def _version_file(wheel: Archive) -> str:
    for info in wheel.infos:
        if info.filename == VERSION_FILE:
            return _text(wheel, info).decode("utf-8", "replace")
    return ""


def _text(wheel: Archive, info: ZipInfo) -> bytes:
    try:
        return wheel.open(info).read(0, _LARGEST_TEXT)
    except Unreadable as problem:
        raise unreadable(wheel.path, f"has a damaged `{info.filename}`: {problem}") from problem


def _ticker(sink: Sink, what: str, total: int) -> Tick:
    said = 0

    def tick(done: int) -> None:
        nonlocal said
        if done - said >= _STEP or done == total != said:
            said = done
            sink(Progress(what, done, total, "B"))

    return tick


def _further(tick: Tick, before: int, done: int) -> None:
    tick(before + done)
