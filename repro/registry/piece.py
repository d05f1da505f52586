"""A piece of a blob on its way out, and that an interrupt does not cut it."""

import threading
from collections.abc import Callable, Iterator
from typing import IO

from repro.events import Note, Sink


class Part:
    """Some bytes of a file as one that requests can send; `told` is given the number of each read."""

    def __init__(self, source: IO[bytes], start: int, size: int, told: Callable[[int], None]) -> None:
        self._source, self._told = source, told
        self._size = self._left = size
        source.seek(start)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(1 << 20):
            yield piece

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most `size`."""
        data = self._source.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        if data:
            self._told(len(data))
        return data


def unbroken(work: Callable[[threading.Event], None], sink: Sink) -> None:
    """Do `work`; an interrupt asks it to stop, waits for that, and goes on then. A second one does not wait.

    It runs in a thread, since an interrupt comes to the main one, and looks at its event between pieces.
    """
    problems: list[BaseException] = []
    stop, ended = threading.Event(), threading.Event()

    def run() -> None:
        try:
            work(stop)
        except BaseException as problem:  # raised again by the thread that waits
            problems.append(problem)
        finally:
            ended.set()

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        ended.wait()  # and not `join`, which on 3.11 takes a thread for ended when an interrupt comes
    except KeyboardInterrupt:
        stop.set()
        if thread.ident is not None:
            sink(Note("note", "the piece under way is sent to its end; interrupt once more to drop it"))
            ended.wait()
        raise
    if problems:
        raise problems[0]
