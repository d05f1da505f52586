"""Installed distributions on disk: headers and tables are read where they lie, some milliseconds a file."""

import os
from collections.abc import Iterator
from pathlib import Path

from repro.events import Progress, Sink, silent
from repro.model.binary import WheelFacts
from repro.scan.package.candidates import is_shared_name, may_be_compiled
from repro.scan.package.compiled import from_file, refused
from repro.scan.package.installed import LARGEST_TEXT, Installed
from repro.scan.reader import FileBytes, Unreadable

_CHUNK = 1 << 20
_STEP = 256  # files between two reports of progress


def scan_tree(folder: Path, sink: Sink = silent) -> list[WheelFacts]:
    """What the compiled files of the distributions in a site-packages folder say, each distribution once.

    Extensions are held against the torch that is installed with them, if one is. Compiled files that no
    RECORD names come last, in a record without a name. Paths are relative to `folder`.
    """
    found = Installed()
    names = sorted(_names(folder))
    for name in names:
        if found.wants(name):
            _text(found, folder, name)
    wanted = [name for name in names if may_be_compiled(name) and not found.wants(name)]
    wanted += sorted(name for name in found.recorded() if name.startswith("../"))
    for number, name in enumerate(wanted):
        if number % _STEP == 0:
            sink(Progress(folder.name, number, len(wanted), "files"))
        _file(found, folder, name)
    return found.wheels()


def _names(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        below = Path(root).relative_to(folder)
        yield from ((below / name).as_posix() for name in names)


def _text(found: Installed, folder: Path, name: str) -> None:
    try:
        with FileBytes(folder / name) as file:
            found.text(name, file.read(0, LARGEST_TEXT))
    except Unreadable:
        return  # its files are then without an owner, and listed so


def _file(found: Installed, folder: Path, name: str) -> None:
    if (folder / name).is_symlink():
        return  # what it leads to is looked at under its own name
    try:
        with FileBytes(folder / name) as file:
            compiled = from_file(name, file)
            if compiled is not None:
                found.add(compiled)
                _look_for_targets(found, name, file)
    except Unreadable as problem:
        if is_shared_name(name):
            found.add(refused(name, 0, problem))


def _look_for_targets(found: Installed, name: str, file: FileBytes) -> None:
    watcher = found.arch_list(name)
    for offset in range(0, file.size if watcher else 0, _CHUNK):
        if watcher:
            watcher.feed(file.read(offset, _CHUNK))
