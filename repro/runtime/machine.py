"""Conditions that need no torch: Python, machine, and the environment variables that can change a number."""

import locale
import os
import platform
import sys

from .variables import environment


def hash_seed():
    """`random`, or the fixed number that orders sets and dictionaries of strings."""
    given = os.environ.get("PYTHONHASHSEED", "")
    return given if given not in ("", "random") else ("random" if sys.flags.hash_randomization else "0")


def cpu_model():
    """Name of the processor; on machines whose kernel gives none, its implementer and part numbers."""
    found = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            for line in f:
                key, _, value = line.partition(":")
                found.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    if found.get("model name"):
        return found["model name"]
    if found.get("CPU implementer"):
        return "implementer %s part %s" % (found["CPU implementer"], found.get("CPU part", "?"))
    return platform.processor() or platform.machine()


def libc():
    """Name and version of the C library."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (ValueError, OSError):
        return " ".join(platform.libc_ver()).strip() or "unknown"


def locales():
    """Locale of sorting and of numbers, and the encoding of text files, as the program set them."""
    names = [locale.setlocale(kind) for kind in (locale.LC_COLLATE, locale.LC_NUMERIC)]
    return "collate %s, numbers %s, text %s" % (names[0], names[1], locale.getpreferredencoding(False))


def processors():
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def interpreter_flags():
    """Options of the interpreter that change what a program does, empty without any."""
    names = ("optimize", "utf8_mode", "isolated", "dev_mode")
    return " ".join("%s=%d" % (n, getattr(sys.flags, n)) for n in names if getattr(sys.flags, n, 0))


def flush_denormal():
    """Whether this thread's arithmetic takes the smallest numbers for zero."""
    return sys.float_info.min / 2 == 0.0


def memory_bytes():
    """Memory of the machine, None when it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


READERS = {
    "python.version": platform.python_version,
    "python.implementation": platform.python_implementation,
    "cpu.model": cpu_model,
    "cpu.count": processors,
    "hash_seed": hash_seed,
    "python.flags": interpreter_flags,
    "python.locale": locales,
    "flags.flush_denormal": flush_denormal,
    "platform.machine": platform.machine,
    "platform.libc": libc,
    "memory.total_bytes": memory_bytes,
}


def read_all(readers):
    """Value by name; a reader that raises gives `unknown`, one that returns None is left out."""
    values = {}
    for name, reader in readers.items():
        try:
            value = reader()
        except Exception:
            value = "unknown"
        if value is not None:
            values[name] = value
    return values


def conditions():
    """All conditions of this file, as they are in the calling process."""
    values = read_all(READERS)
    values.update(environment(os.environ))
    return values
