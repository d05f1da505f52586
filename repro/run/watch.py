"""Follows the recorder's progress file while a run goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from repro.events import Progress, Sink

_EVERY_SECONDS = 0.5


@contextmanager
def watch(folder: Path, sink: Sink) -> Iterator[None]:
    """Report step, loss and step time of the newest attempt through `sink` until the block ends."""
    over = threading.Event()
    follower = threading.Thread(target=_follow, args=(folder, sink, over), daemon=True)
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join(timeout=2)


def _follow(folder: Path, sink: Sink, over: threading.Event) -> None:
    last = b""
    while not over.wait(_EVERY_SECONDS):
        line = _newest_line(folder)
        if line and line != last:
            last = line
            _report(line, sink)


def _newest_line(folder: Path) -> bytes:
    attempts = sorted(folder.glob("attempt-*/progress.jsonl"), key=lambda p: int(p.parent.name.split("-")[1]))
    if not attempts:
        return b""
    lines = attempts[-1].read_bytes()[-4096:].split(b"\n")
    return lines[-2] if len(lines) > 1 else b""


def _report(line: bytes, sink: Sink) -> None:
    try:
        row = msgspec.json.decode(line)
        loss = f"loss {float.fromhex(row['loss']):.5g}" if row.get("loss") else "no loss seen"
        took = f"{float.fromhex(row['dt']) * 1000:.1f} ms a step" if row.get("dt") else ""
        sink(Progress(f"{loss}  {took}", int(row["step"]), 0, "steps"))
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
        return  # a line that is not whole yet; the next look reads it
