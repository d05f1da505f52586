"""Keeps large traces as tables in the user's cache folder, so that each is converted once.

An entry is named by the SHA-256 of the whole file, and by nothing else: a trace that has changed in any
byte has another name, and one that was moved or copied has the same. A run's own folder is never
written to. An entry whose files are not what was written is made again.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import msgspec

from repro import paths
from repro.errors import ReproError
from repro.files import folder_aside, sha256_file
from repro.model.record import Json, Open
from repro.model.steps import Steps
from repro.model.trace import Evaluation, Gradients, ModuleCall, Segment, StateSnapshot, Trace
from repro.trace.lines import read_file
from repro.trace.table import read_table, write_table

VERSION = 1
WORTH = 8 << 20  # bytes; below, reading the lines takes less than a third of a second
MANY = 50_000  # steps
_TABLE, _REST, _INDEX = "steps.parquet", "rest.json", "index.json"


class _Rest(Open, kw_only=True):
    """A segment but for its steps, of which it has `count`."""

    count: int
    start: Json
    snapshots: list[StateSnapshot] = []
    events: list[Json] = []
    checkpoints: list[Json] = []
    evaluations: list[Evaluation] = []
    calls: list[ModuleCall] = []
    gradients: list[Gradients] = []
    end: Json | None = None


class _Index(Open, kw_only=True):
    """What stands beside the files of an entry: their SHA-256, and whether the trace is torn."""

    torn: bool
    files: dict[str, str]


def read(path: Path, rank: int) -> Trace:
    """The trace in one file, from the cache where it lies there; see `lines.read_file` for the errors."""
    if not path.is_file() or path.stat().st_size < WORTH:
        return read_file(path, rank)
    if find_spec("pyarrow") is None:
        return _noted(read_file(path, rank))
    kept = _kept(_entry(sha256_file(path)), path.name, rank)
    if kept is not None:
        return kept
    digest = hashlib.sha256()  # of what is read: a run that is going on may have written more by now
    trace = read_file(path, rank, digest.update)
    _keep(_entry(digest.hexdigest()), trace)
    return trace


def _entry(digest: str) -> Path:
    return paths.cache() / "traces" / f"{VERSION}-{digest}"


def _noted(trace: Trace) -> Trace:
    steps = sum(len(segment.steps) for segment in trace.segments)
    if steps <= MANY:
        return trace
    note = (
        f"{trace.file} has {steps} steps and was read line by line, as it will be each time: without pyarrow "
        "no table is kept; pip install 'reprobundle[parquet]'"
    )
    return msgspec.structs.replace(trace, notes=[note])


def _kept(entry: Path, name: str, rank: int) -> Trace | None:
    try:
        index = msgspec.json.decode((entry / _INDEX).read_bytes(), type=_Index)
        if index.files != _digests(entry):
            return None
        segments = _segments((entry / _REST).read_bytes(), read_table(entry / _TABLE))
    except _unreadable():
        return None
    return Trace(rank=rank, segments=segments, torn=index.torn, file=name)


def _digests(entry: Path) -> dict[str, str]:
    return {name: sha256_file(entry / name) for name in (_TABLE, _REST)}


def _segments(raw: bytes, steps: Steps) -> list[Segment]:
    segments, at = [], 0
    for rest in msgspec.json.decode(raw, type=list[_Rest]):
        fields = {field: getattr(rest, field) for field in _Rest.__struct_fields__ if field != "count"}
        segments.append(Segment(steps=steps.between(at, at + rest.count), **fields))
        at += rest.count
    if at != len(steps):
        raise ValueError("the table holds other steps than the segments beside it")
    return segments


def _keep(entry: Path, trace: Trace) -> None:
    """Write an entry aside and give it its name; where that fails, there is none."""
    try:
        with folder_aside(entry.parent, entry.name[:24]) as aside:
            write_table(aside.path / _TABLE, Steps.joined([segment.steps for segment in trace.segments]))
            rest = msgspec.json.encode([_without_steps(segment) for segment in trace.segments])
            (aside.path / _REST).write_bytes(rest)
            index = _Index(torn=trace.torn, files=_digests(aside.path))
            (aside.path / _INDEX).write_bytes(msgspec.json.encode(index))
            aside.replace(entry)
    except _unreadable():
        return


def _without_steps(segment: Segment) -> _Rest:
    fields = {field: getattr(segment, field) for field in _Rest.__struct_fields__ if field != "count"}
    return _Rest(count=len(segment.steps), **fields)


def _unreadable() -> tuple[type[Exception], ...]:
    from pyarrow import ArrowException

    return (OSError, ValueError, KeyError, TypeError, OverflowError, ReproError, ArrowException)
