"""Reads one `trace-*.jsonl`, line by line: a million steps fit, and a cut last line is no damage.

The form is described in docs/formats.md, "Trace".
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from repro.model.record import Json
from repro.model.trace import Evaluation, Gradients, ModuleCall, Segment, StateSnapshot, Step, Trace
from repro.trace.faults import check_format, damaged
from repro.trace.rows import Rows


class _StepLine(Step, frozen=True, kw_only=True, tag_field="k", tag="s"):
    """A step as it stands in the file, told by its `k`; likewise the others."""


class _SnapshotLine(StateSnapshot, frozen=True, kw_only=True, tag_field="k", tag="p"):
    pass


class _EvaluationLine(Evaluation, frozen=True, kw_only=True, tag_field="k", tag="e"):
    pass


class _CallLine(ModuleCall, frozen=True, kw_only=True, tag_field="k", tag="m"):
    pass


class _GradientsLine(Gradients, frozen=True, kw_only=True, tag_field="k", tag="g"):
    pass


# Nearly every line is one of these; the rest takes the slow way through a dict.
Frequent = _StepLine | _SnapshotLine | _EvaluationLine | _CallLine | _GradientsLine
_FREQUENT = msgspec.json.Decoder(Frequent)
_ANY = msgspec.json.Decoder(dict)
_TAGS = ("s", "p", "e", "m", "g")


def read_file(path: Path, rank: int, seen: Callable[[bytes], object] = len) -> Trace:
    """The trace in one file. `seen` is given every line that was read, in order.

    A repeated step number within one segment, or one that is lower than that of the step before, is
    damage; a step that is missing is not, and shows in the numbers.

    Raises:
        trace-too-new, trace-too-old: another format.
        trace-damaged: a line before the last cannot be read, or the file has no beginning.
    """
    if not path.is_file():
        damaged(path, 1, "not a regular file")
    segments = _Segments(path)
    torn = False
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            seen(raw)
            if not raw.strip():
                continue
            try:
                line = _decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                if file.read(1):
                    damaged(path, number, str(problem))
                torn = True
            else:
                segments.take(number, line)
    return Trace(rank=rank, segments=segments.done(), torn=torn, file=path.name)


def _decode(raw: bytes) -> Frequent | Json:
    try:
        return _FREQUENT.decode(raw)
    except msgspec.ValidationError:
        line: Json = _ANY.decode(raw)
        if not isinstance(line.get("k", ""), str) or line.get("k") in _TAGS:
            raise
        return line


class _Open:
    """The segment that is being read; what stands before the first `start` record belongs to it."""

    def __init__(self, path: Path, start: Json) -> None:
        self.start = start
        self.rows = Rows(path)
        self.end: Json | None = None
        self.kinds: dict[str, list[Json]] = {"x": [], "c": []}
        self.records: dict[type, list[Frequent]] = {
            kind: [] for kind in (_SnapshotLine, _EvaluationLine, _CallLine, _GradientsLine)
        }

    def closed(self) -> Segment | None:
        """The segment; None when it holds nothing at all."""
        parts = (*self.kinds.values(), *self.records.values())
        if not (self.start or self.end or any(parts)):
            return None
        found: Json = {"events": self.kinds["x"], "checkpoints": self.kinds["c"]}
        found |= zip(("snapshots", "evaluations", "calls", "gradients"), self.records.values(), strict=True)
        return Segment(start=self.start, steps=self.rows.steps(), end=self.end, **found)


class _Segments:
    """Collects records; each `start` opens a segment."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: list[Segment] = []
        self._open = _Open(path, {})

    def take(self, number: int, line: Frequent | Json) -> None:
        if isinstance(line, dict):
            self._take_rare(number, line)
        elif not self._open.start:
            damaged(self._path, number, "a step stands before any `start` record")
        elif isinstance(line, _StepLine):
            self._open.rows.take(number, line)
        else:
            self._open.records[type(line)].append(line)

    def _take_rare(self, number: int, line: Json) -> None:
        kind = line.get("k", "")
        if kind == "start":
            self._start(number, line)
        elif kind == "end":
            self._open.end = line
        elif kind in self._open.kinds:
            self._open.kinds[kind].append(line)

    def done(self) -> list[Segment]:
        last = self._open.closed()
        return self._done if last is None else [*self._done, last]

    def _start(self, number: int, line: Json) -> None:
        check_format(self._path, number, line)
        if self._open.start:
            self._done = self.done()
            self._open = _Open(self._path, line)
        else:
            self._open.start = line
