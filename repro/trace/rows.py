"""Turns step records into columns while they are read: only some thousands are records at a time."""

from pathlib import Path

from repro.model.trace import Step, Steps
from repro.trace.faults import damaged

_AT_ONCE = 10_000


class Rows:
    """Steps of one segment, in the order of the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts: list[Steps] = []
        self._rows: list[Step] = []
        self._lines: list[int] = []
        self._last = 0

    def take(self, line: int, step: Step) -> None:
        """Add the step that stands in this line.

        Raises:
            trace-damaged: its number is not above that of the step before, or a value is no number.
        """
        self._rows.append(step)
        self._lines.append(line)
        if len(self._rows) == _AT_ONCE:
            self._settle()

    def steps(self) -> Steps:
        """All steps taken."""
        self._settle()
        self._parts = [Steps.joined(self._parts)]
        return self._parts[0]

    def _settle(self) -> None:
        if not self._rows:
            return
        self._check_order()
        try:
            part = Steps.of(self._rows)
        except (ValueError, OverflowError):
            self._name_the_culprit()
            raise
        self._parts.append(part)
        self._last = part.last
        self._rows, self._lines = [], []

    def _check_order(self) -> None:
        numbers = [row.step for row in self._rows]
        before = [self._last, *numbers[:-1]]
        for line, last, number in zip(self._lines, before, numbers, strict=True):
            if number == last > 0:
                damaged(self._path, line, f"step {number} is there twice in one segment")
            if number <= last:
                damaged(self._path, line, f"step {number} stands after step {last}")

    def _name_the_culprit(self) -> None:
        for line, row in zip(self._lines, self._rows, strict=True):
            try:
                Steps.of([row])
            except (ValueError, OverflowError) as problem:
                damaged(self._path, line, f"step {row.step} has a value that is no number: {problem}")
