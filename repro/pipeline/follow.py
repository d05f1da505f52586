"""Follows a run's growing trace beside a reference, tells what it sees, and ends a doomed run when asked."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from repro.bundle import Reference
from repro.compare.rounding.watch import Alarm, Watch
from repro.engine.contract import Stop
from repro.events import Note, Sink
from repro.pipeline.compare import side
from repro.trace.tail import Tail

_EVERY_SECONDS = 1.0
# What ends a run early, and which alarms count for it.
STOPS: dict[str, tuple[str, ...]] = {
    "never": (),
    "diverged": ("diverged",),
    "beyond-rounding": ("beyond-rounding", "diverged"),
}


@dataclass(frozen=True)
class Beside:
    """What a run is held against: a run, the reference whose members are its, and a key of STOPS."""

    run: Path
    reference: Reference | None
    stop_on: str = "never"


class Follower:
    """Watches the run in `folder` in a thread of its own. `doom` is the alarm that ended it."""

    def __init__(self, beside: Beside, folder: Path, sink: Sink) -> None:
        members = [side(path) for path in beside.reference.members] if beside.reference else []
        self._watch = Watch(side(beside.run), members)
        self._stops = STOPS[beside.stop_on]
        self._tail = Tail(folder)
        self._sink = sink
        self._over = threading.Event()
        self.stop = Stop()
        self.doom: Alarm | None = None

    @contextmanager
    def following(self) -> Iterator[None]:
        """Watch until the block ends."""
        thread = threading.Thread(target=self._follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(timeout=5)

    def _follow(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            for record in self._tail.read():
                for alarm in self._watch.take(record):
                    self._tell(alarm)

    def _tell(self, alarm: Alarm) -> None:
        level = "note" if alarm.kind == "note" else "warning"
        ends = alarm.kind in self._stops and self.doom is None
        word = "" if alarm.kind == "note" else f"{alarm.kind}: "
        after = "; the run is stopped" if ends else ""
        self._sink(Note(level, f"{word}step {alarm.step}: {alarm.text}{after}"))  # type: ignore[arg-type]
        if ends:
            self.doom = alarm
            self.stop.ask()
