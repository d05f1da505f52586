"""The build context as a stream: the same bytes for the same bundle, never a second copy on disk."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from repro import tarball
from repro.image.plain.dockerfile import CONTEXT_FILES, CONTEXT_FOLDERS


def members(folder: Path) -> list[tarball.Member]:
    """What the Dockerfile needs of a bundle's folder, and nothing else."""
    files = [tarball.Member(name, folder / name) for name in CONTEXT_FILES if (folder / name).is_file()]
    for name in CONTEXT_FOLDERS:
        if (folder / name).is_dir():
            files += [tarball.Member(name), *tarball.folder_members(folder / name, name)]
    return files


@contextmanager
def stream(folder: Path) -> Iterator[IO[bytes]]:
    """The context tar, written by a thread while it is read.

    The thread's error is raised at the end, since the reader sees only a tar that stops short.
    """
    reader, writer = os.pipe()
    wanted = members(folder)
    problems: list[BaseException] = []

    def write() -> None:
        try:
            with os.fdopen(writer, "wb") as out:
                tarball.write(out, wanted)
        except BrokenPipeError:
            return  # the reader has gone, with a better reason
        except OSError as problem:
            problems.append(problem)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        with os.fdopen(reader, "rb") as source:
            yield source
    finally:
        thread.join()
    if problems:
        raise problems[0]
