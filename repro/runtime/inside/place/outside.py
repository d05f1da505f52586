"""What the program took in from outside before its first step: files it read, folders it listed.

Told by Python's own audit events (3.8 and later), so that no function is replaced; an older Python tells
nothing. Files are looked at once, at the first step: until then there are only names.
"""

import operator
import os
import sys

from .places import RUNTIME, is_foreign, told

FILES, FOLDERS, ENTRIES = 256, 64, 200000
WHOLE_BYTES, ALL_BYTES, EDGE_BYTES = 4 << 20, 32 << 20, 1 << 16
READS = ("r", "rb", "rt", "br")
# What looks for modules and packages lists every folder of the import path, the working folder among them.
SEEKERS = ("importlib", "pkgutil", "pkg_resources", "linecache")
DEPTH = 8
CODE = (".py", ".pyc", ".so", ".pth")


class Watch:
    """Names of files and folders, in the order of their first use; `rest` ends it for good."""

    def __init__(self):
        self.files, self.folders = {}, {}
        self.busy = False
        self.failed = ""
        # A hook cannot be taken away again, but what it calls can be changed for something of C's.
        self.ear = type("Ear", (), {"__call__": self.heard})

    def heard(self, event, args):
        """One audit event of this process; called for all of them, so that most are passed over at once."""
        if event not in _EVENTS or self.busy:
            return
        self.busy = True
        try:
            # What the recorder reads, such as a state to start from, is no part of the program.
            if not sys._getframe(1).f_code.co_filename.startswith(RUNTIME):
                _EVENTS[event](self, *args)
        except Exception as problem:
            # The program goes on as it would; that something was missed is told with what was seen.
            self.failed = type(problem).__name__
        finally:
            self.busy = False

    def opened(self, path, mode, flags):
        """A file is about to be opened."""
        reading = mode in READS if mode is not None else flags & (os.O_WRONLY | os.O_RDWR) == 0
        if reading and len(self.files) < FILES and isinstance(path, (str, bytes, os.PathLike)):
            path = os.path.abspath(os.fsdecode(path))
            if not path.endswith(CODE) and not is_foreign(path):
                self.files.setdefault(path)

    def listed(self, path):
        """A folder is about to be listed; looks for modules do not count."""
        if len(self.folders) >= FOLDERS or isinstance(path, int):
            return
        path = os.path.abspath(os.fsdecode(path) if path else ".")
        if not is_foreign(path) and not _by_seeker():
            self.folders.setdefault(path)

    def rest(self):
        """Listen to nothing more.

        An event still costs a call, and training can make many: each `id` is one, and Adam takes that of
        each parameter at each step.
        """
        self.ear.__call__ = operator.is_

    def stop(self):
        """Conditions by name, once; nothing more is listened to."""
        self.rest()
        values = _files(self.files)
        values.update(_orders(self.folders))
        if self.failed:
            values["outside.unseen"] = self.failed
        self.files, self.folders = {}, {}
        return values


_EVENTS = {"open": Watch.opened, "os.listdir": Watch.listed, "os.scandir": Watch.listed}


def start():
    """The watch of this process, None where this Python has no audit events."""
    add_hook = getattr(sys, "addaudithook", None)
    if add_hook is None:
        return None
    watch = Watch()
    add_hook(watch.ear())
    return watch


def _by_seeker():
    """Whether one of the innermost callers looks for modules."""
    frame = sys._getframe(3)
    for _ in range(DEPTH):
        if frame is None:
            return False
        if any(word in frame.f_code.co_filename for word in SEEKERS):
            return True
        frame = frame.f_back
    return False


def _files(paths):
    """`files.NAME` with size and digest; files named on the command line are compared there."""
    named = {os.path.realpath(word.partition("=")[2] or word) for word in sys.argv}
    values, left = {}, ALL_BYTES
    for path in paths:
        if os.path.realpath(path) in named or not os.path.isfile(path):
            continue
        try:
            size = os.path.getsize(path)
            whole = size <= min(WHOLE_BYTES, left)
            values["files." + told(path)] = "%s %d bytes%s" % (
                _digest(path, size, whole), size, "" if whole else ", its ends")  # fmt: skip
            left -= size if whole else 0
        except OSError:
            continue
    return values


def _digest(path, size, whole):
    import hashlib  # not at the start of every process of the program

    with open(path, "rb") as f:
        if whole:
            return hashlib.sha256(f.read()).hexdigest()[:12]
        head = f.read(EDGE_BYTES)
        f.seek(max(size - EDGE_BYTES, 0))
        return hashlib.sha256(head + f.read()).hexdigest()[:12]


def _orders(folders):
    """Digests of what the listed folders hold, in the order in which the system gives it and in none.

    Where a folder lies says nothing about that, and folders below it are walked in the order of their names.
    """
    import hashlib

    given, free, count = hashlib.sha256(), [], 0
    for path in folders:
        try:
            names = os.listdir(path)
        except OSError:
            continue
        count += len(names)
        if count > ENTRIES:
            return {}
        given.update(_lines(names))
        free.append(hashlib.sha256(_lines(sorted(names))).digest())
    if not count:
        return {}
    whole = hashlib.sha256(b"".join(sorted(free)))
    return {"order.listing": given.hexdigest()[:12], "order.listing_sorted": whole.hexdigest()[:12]}


def _lines(names):
    return "\0".join(names + [""]).encode("utf-8", "surrogateescape")
