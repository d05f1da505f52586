"""Reads a trace while it grows: whole lines only, each once."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from repro.model.trace import StateSnapshot, Step

_KINDS: dict[str, type[Step] | type[StateSnapshot]] = {"s": Step, "p": StateSnapshot}
_ATTEMPT = re.compile(r"attempt-(\d+)")
_MOST = 8 << 20


class Tail:
    """The first training of the first rank of a run's newest attempt, from its beginning on.

    A second training of the same process has its own count of steps; `over` is True from there on.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._path: Path | None = None
        self._at = 0
        self._starts = 0

    @property
    def over(self) -> bool:
        """Whether what follows belongs to another training."""
        return self._starts > 1

    def read(self) -> Iterator[Step | StateSnapshot]:
        """Steps and snapshots that came since the last call; a line that is not whole waits for the next."""
        self._path = self._path or self._find()
        while self._path is not None and not self.over:
            with self._path.open("rb") as file:
                file.seek(self._at)
                piece = file.read(_MOST)
            whole = piece[: piece.rfind(b"\n") + 1]
            if not whole:
                return
            self._at += len(whole)
            yield from self._records(whole)

    def _records(self, lines: bytes) -> Iterator[Step | StateSnapshot]:
        for line in lines.splitlines():
            try:
                record = msgspec.json.decode(line)
                self._starts += record.get("k") == "start"
                kind = _KINDS.get(record.get("k"))
                if kind and not self.over:
                    yield msgspec.convert(record, kind)
            except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError):
                continue  # the whole trace is judged once the run has ended, and damage is told there

    def _find(self) -> Path | None:
        found = {
            int(match[1]): p for p in self._run.glob("attempt-*") if (match := _ATTEMPT.fullmatch(p.name))
        }
        path = found[max(found)] / "trace-0.jsonl" if found else None
        return path if path and path.is_file() else None
