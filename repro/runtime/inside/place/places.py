"""Whose a file is: the program's own, or Python's, a package's, the system's, the recorder's."""

import os
import sys

SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/run", "/usr/lib", "/usr/share", "/lib")
PACKAGES = ("site-packages", "dist-packages")
RUNTIME = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
STANDARD = os.path.dirname(os.path.abspath(os.__file__))
# No device, but a file system in memory that people keep data in.
MEMORY = os.path.join(os.sep, "dev", "shm")


def is_foreign(path):
    """Whether an absolute path is none of the program's own files or data."""
    if any(part in PACKAGES for part in path.split(os.sep)):
        return True
    if _below(path, MEMORY):
        return False
    roots = (STANDARD, RUNTIME, os.environ.get("REPRO_RUNTIME_ATTEMPT", ""), sys.prefix + os.sep + "lib")
    return any(root and _below(path, root) for root in SYSTEM + roots) and not _in_work(path)


def told(path):
    """A name for a path that holds on another machine: from the working folder, or its last two parts."""
    here = os.getcwd()
    if _below(path, here):
        return os.path.relpath(path, here).replace(os.sep, "/")
    return "/".join(path.split(os.sep)[-2:])


def _in_work(path):
    """A bundle's program works in a folder below the attempt's own."""
    attempt = os.environ.get("REPRO_RUNTIME_ATTEMPT", "")
    return bool(attempt) and _below(path, os.path.join(attempt, "work"))


def _below(path, root):
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
