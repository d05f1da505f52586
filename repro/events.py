"""What the core tells whoever watches: steps, progress, notes, program output.

The core never prints. It calls a `Sink` with one of these records; `repro.console`
shows them, tests collect them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class StepStarted:
    """A named part of a longer job began."""

    name: str


@dataclass(frozen=True)
class StepEnded:
    """A named part of a longer job ended well; `seconds` is wall time."""

    name: str
    seconds: float
    cached: bool
    detail: str


@dataclass(frozen=True)
class Progress:
    """`done` of `total` (0 when unknown) in `unit` ("B", "files", "steps") for `what`.

    `rate` is in units a second, 0 where it is not known.
    """

    what: str
    done: int
    total: int
    unit: str
    rate: float = 0.0


@dataclass(frozen=True)
class Note:
    """A sentence for the user that is not an error."""

    level: Literal["note", "warning"]
    text: str


@dataclass(frozen=True)
class Output:
    """Bytes that a contained program wrote, as they came."""

    data: bytes


Event = StepStarted | StepEnded | Progress | Note | Output
Sink = Callable[[Event], None]


def silent(_event: Event) -> None:
    """A sink that shows nothing."""


class Step:
    """Handle inside `with step(...)`: say whether the work was already done, and what came out."""

    def __init__(self) -> None:
        self.cached = False
        self.detail = ""


@contextmanager
def step(sink: Sink, name: str) -> Iterator[Step]:
    """Announce a step and, if it ends well, its wall time in seconds."""
    sink(StepStarted(name))
    start = time.monotonic()
    handle = Step()
    yield handle
    sink(StepEnded(name, time.monotonic() - start, handle.cached, handle.detail))


class Meter:
    """Tells how far a transfer is, in bytes, and its mean rate since its start, of what was really moved."""

    def __init__(self, sink: Sink, what: str, total: int) -> None:
        self._sink, self._what, self._total = sink, what, total
        self._start = time.monotonic()
        self.done = self.moved = 0

    def add(self, count: int) -> None:
        """So many bytes more were moved."""
        self.moved += count
        self.skip(count)

    def skip(self, count: int) -> None:
        """So many bytes need not be moved; or, below 0, have to be moved again."""
        self.done += count
        seconds = time.monotonic() - self._start
        rate = self.moved / seconds if seconds > 0 else 0.0
        self._sink(Progress(self._what, self.done, self._total, "B", rate))
