"""Shows events and errors to a person: plain lines on standard error, results on standard output.

Decides once about colour (NO_COLOR, FORCE_COLOR, a terminal) and about the live line.
Text is complete without colour.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from repro import events
from repro.errors import ReproError

_STYLES = {"error": "31;1", "warning": "33", "good": "32", "dim": "2", "bold": "1"}
_LIVE_SECONDS = 0.2


class Console:
    """One terminal.

    Args:
        quiet: hide progress and notes; warnings and errors are always shown.
        output: show what the programs behind the steps print.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False, output: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.output = output
        self.tty = self.stream.isatty()
        self.colour = (self.tty or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
        self._live = ""
        self._shown_at = 0.0

    def style(self, text: str, name: str) -> str:
        """Return `text` in a style, or as it is when colour is off."""
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.colour else text

    def sink(self, event: events.Event) -> None:
        """Show one event; give this to the core as its sink."""
        if self.quiet and not (isinstance(event, events.Note) and event.level == "warning"):
            return
        try:
            _SHOW[type(event)](self, event)
        except OSError:
            # Nobody reads any more, or the disk behind is full: hours of training must not end by that.
            self.stream, self.tty = open(os.devnull, "w", encoding="utf-8"), False  # noqa: SIM115

    def line(self, text: str = "") -> None:
        """Print a whole line, keeping a live line below it tidy."""
        self._clear()
        print(text, file=self.stream, flush=True)

    def write(self, data: bytes) -> None:
        """Pass on bytes of a program as they came."""
        self._clear()
        self.stream.flush()
        raw = getattr(self.stream, "buffer", None)
        if raw is None:
            self.stream.write(data.decode("utf-8", "replace"))
        else:
            raw.write(data)
        self.stream.flush()

    def live(self, text: str) -> None:
        """Show a line that the next one replaces; nothing where the output is no terminal."""
        now = time.monotonic()
        if not self.tty or now - self._shown_at < _LIVE_SECONDS:
            return
        self._clear()
        self._live, self._shown_at = text, now
        print(text[: _columns() - 1], end="", file=self.stream, flush=True)

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=self.stream)
            self._live = ""

    def error(self, error: ReproError) -> None:
        """Print an error in the house's form: found, needs, why, done, try, see."""
        head = self.style(f"error[{error.code}]", "error")
        self.line(f"{head}: {error.message}")
        rows = [
            ("found", error.found),
            ("needs", error.needs),
            ("why", error.why),
            ("done", error.done),
            ("try", error.tries),
        ]
        for word, value in rows:
            self._block(word, [value] if isinstance(value, str) else value)
        self._block("see", [f"repro explain {error.code}"])

    def _block(self, word: str, texts: Iterable[str]) -> None:
        """Lines beside one word, which stands only at the first; empty texts are left out."""
        lines = [line for text in texts if text for line in text.splitlines()]
        for number, line in enumerate(lines):
            shown = self.style(f"{word:<7}", "dim") if number == 0 else " " * 7
            self.line(f"  {shown} {line}".rstrip())


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 100


def size(num_bytes: float) -> str:
    """A number of bytes as people read it: `812 B`, `34.1 kB`, `2.76 GB`."""
    value = float(num_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    raise AssertionError


def _started(console: Console, event: events.StepStarted) -> None:
    console.live(f"  {event.name} ...")


def _ended(console: Console, event: events.StepEnded) -> None:
    took = "cached" if event.cached else f"{event.seconds:.1f} s"
    mark = console.style("ok", "good")
    console.line(f"  {mark} {event.name:<17} {took:>8}  {event.detail}".rstrip())


def _progress(console: Console, event: events.Progress) -> None:
    show: Callable[[float], str] = size if event.unit == "B" else lambda n: f"{n:,.0f} {event.unit}"
    total = f" of {show(event.total)}" if event.total else ""
    rate = f", {show(event.rate)}/s" if event.rate else ""
    console.live(f"  {event.what}: {show(event.done)}{total}{rate}")


def _note(console: Console, event: events.Note) -> None:
    word = console.style("warning", "warning") if event.level == "warning" else console.style("note", "dim")
    first, *rest = event.text.splitlines() or [""]
    console.line(f"  {word}: {first}")
    for more in rest:
        console.line(f"    {more}")


def _output(console: Console, event: events.Output) -> None:
    if not console.output:
        return
    console.write(event.data)


_SHOW: dict[type, Callable[..., None]] = {
    events.StepStarted: _started,
    events.StepEnded: _ended,
    events.Progress: _progress,
    events.Note: _note,
    events.Output: _output,
}
