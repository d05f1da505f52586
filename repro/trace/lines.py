"""Reads `trace-*.jsonl`, line by line: a million steps fit, and a cut last line is no damage.

The form is described in docs/formats.md, "Trace".
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import msgspec

from repro.errors import ReproError
from repro.model.record import Json, Open
from repro.model.trace import FORMAT, Segment, StateSnapshot, Step, Trace

_NAME = re.compile(r"trace-(?P<rank>\d+)(?:\.(?P<part>\d+))?\.jsonl")


class _StepLine(Step, frozen=True, kw_only=True, tag_field="k", tag="s"):
    """A step as it stands in the file, told by its `k`."""


class _SnapshotLine(StateSnapshot, frozen=True, kw_only=True, tag_field="k", tag="p"):
    """A snapshot as it stands in the file, told by its `k`."""


class _Tensor(Open, kw_only=True):
    name: str
    shape: list[int] = []
    dtype: str = ""


class _StartLine(Open, kw_only=True):
    """What readers take from a `start` record."""

    params: list[_Tensor] = []
    buffers: list[_Tensor] = []
    optimizers: list[Json] = []


# Nearly every line is one of these two; the rest takes the slow way through a dict.
_FREQUENT = msgspec.json.Decoder(_StepLine | _SnapshotLine)
_ANY = msgspec.json.Decoder(dict)
Line = _StepLine | _SnapshotLine | Json


def read_trace(attempt: Path) -> list[Trace]:
    """The traces of an attempt, one for each process that trained, by rank and then by part.

    A last line that cannot be read was cut by a kill: it is passed over and the trace is `torn`.
    Records of an unknown kind are passed over; a run without torch has no trace, which is an
    empty list.

    Raises:
        trace-too-new: a newer recorder wrote it.
        trace-damaged: a line before the last cannot be read, or the file has no beginning.
    """
    found = [(match, path) for path in attempt.glob("trace-*.jsonl") if (match := _NAME.fullmatch(path.name))]
    found.sort(key=lambda pair: (int(pair[0]["rank"]), int(pair[0]["part"] or 1)))
    return [_read_file(path, int(match["rank"])) for match, path in found]


def _read_file(path: Path, rank: int) -> Trace:
    if not path.is_file():
        _damaged(path, 1, "not a regular file")
    segments = _Segments(path)
    torn = False
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                line = _decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                if file.read(1):
                    _damaged(path, number, str(problem))
                torn = True
            else:
                segments.take(number, line)
    return Trace(rank=rank, segments=segments.done(), torn=torn, file=path.name)


def _decode(raw: bytes) -> Line:
    try:
        return _FREQUENT.decode(raw)
    except msgspec.ValidationError:
        line: Json = _ANY.decode(raw)
        if not isinstance(line.get("k", ""), str) or line.get("k") in ("s", "p"):
            raise
        return line


class _Segments:
    """Collects records; each `start` opens a segment, what came before the first one belongs to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: list[Segment] = []
        self._open = Segment(start={})
        self._end: Json | None = None
        self._by_kind: dict[str, Callable[[int, Json], None]] = {
            "start": self._start,
            "x": lambda _number, line: self._open.events.append(line),
            "c": lambda _number, line: self._open.checkpoints.append(line),
            "end": self._finish,
        }

    def take(self, number: int, line: Line) -> None:
        if isinstance(line, _StepLine):
            self._check_loss(number, line)
            self._begun(number).steps.append(line)
        elif isinstance(line, _SnapshotLine):
            self._begun(number).snapshots.append(line)
        elif known := self._by_kind.get(line.get("k", "")):
            known(number, line)

    def _check_loss(self, number: int, line: Step) -> None:
        try:
            float.fromhex(line.loss or "0")
        except (ValueError, OverflowError):
            _damaged(self._path, number, f"the loss {line.loss!r} is no float.hex() text")

    def _begun(self, number: int) -> Segment:
        if not self._open.start:
            _damaged(self._path, number, "a step stands before any `start` record")
        return self._open

    def done(self) -> list[Segment]:
        return list(self._closed())

    def _closed(self) -> Iterator[Segment]:
        yield from self._done
        last = msgspec.structs.replace(self._open, end=self._end)
        if last != Segment(start={}):
            yield last

    def _start(self, number: int, line: Json) -> None:
        _check_format(self._path, number, line.get("format"))
        try:
            msgspec.convert(line, _StartLine)
        except msgspec.ValidationError as problem:
            _damaged(self._path, number, str(problem))
        if self._open.start:
            self._done = self.done()
            self._open, self._end = Segment(start=line), None
        else:
            self._open = msgspec.structs.replace(self._open, start=line)

    def _finish(self, _number: int, line: Json) -> None:
        self._end = line


def _check_format(path: Path, number: int, form: object) -> None:
    if not isinstance(form, int):
        _damaged(path, number, "the `start` record names no format")
    if form > FORMAT:
        raise ReproError(
            "trace-too-new",
            f"`{path.name}` has trace format {form}, this version reads up to {FORMAT}",
            found=f"format {form} in `{path}`, line {number}",
            needs=f"format {FORMAT} or older",
            done="nothing was compared",
            tries="pip install --upgrade reprobundle",
        )


def _damaged(path: Path, number: int, problem: str) -> NoReturn:
    raise ReproError(
        "trace-damaged",
        f"`{path.name}`, line {number}, cannot be read",
        found=f"{path}:{number}: {problem}",
        needs="one JSON record a line; only the last line of a killed run may be cut",
        why="steps may be missing, and a comparison would not notice",
        done="nothing was compared",
        tries=["copy the run's folder again from where it was made", "repro show"],
    )
