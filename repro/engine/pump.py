"""Hand on a program's output from a reader thread, so that Ctrl-C never tears the stream.

A generator that an interrupt passes through is dead, and what the program says while it
stops would be lost. Here the interrupt meets the main thread in a queue, and reading goes on.
"""

import queue
import threading
from collections.abc import Callable, Iterator

_AHEAD = 1024
_PATIENCE = 20


class Pump:
    """Reads `source` in a thread; `drain` hands what came to `output`, in the caller's thread."""

    def __init__(self, source: Iterator[bytes], output: Callable[[bytes], None]) -> None:
        self._queue: queue.Queue[bytes | BaseException | None] = queue.Queue(_AHEAD)
        self._output = output
        self._ended = False
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def _read(self, source: Iterator[bytes]) -> None:
        end: BaseException | None = None
        try:
            for piece in source:
                self._queue.put(piece)
        except Exception as problem:  # handed to the thread that waits
            end = problem
        self._queue.put(end)

    def drain(self) -> None:
        """Hand on all output up to its end; raises what the reader met."""
        while not self._ended:
            self._take(self._queue.get())

    def drain_until(self, done: threading.Event) -> None:
        """Hand on output until its end; give up when `done` is set and the source stays silent."""
        silent = 0
        while not self._ended and silent < _PATIENCE:
            try:
                self._take(self._queue.get(timeout=0.1))
            except queue.Empty:
                silent = silent + 1 if done.is_set() else 0

    def _take(self, piece: bytes | BaseException | None) -> None:
        if piece is None:
            self._ended = True
        elif isinstance(piece, BaseException):
            self._ended = True
            raise piece
        else:
            self._output(piece)
