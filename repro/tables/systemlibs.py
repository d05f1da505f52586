"""Libraries of the system: which Debian package holds one, and what needs no package at all."""

from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache

from repro.tables.read import table


def debian_package(library: str) -> str:
    """The Debian package that holds a shared library, or empty when the table does not know it."""
    return _holders().get(library, "")


@cache
def comes_from(library: str, section: str) -> bool:
    """Whether a section of the table names a library: `glibc`, `slim`, `driver`, `beside` or `foreign`."""
    return any(fnmatch(library, pattern) for pattern in table("system_libraries")[section]["names"])


def libraries_of(packages: Iterable[str]) -> set[str]:
    """Libraries of Debian packages, written as for apt (`libgl1=1.6`), and of those that they bring along."""
    brings: dict[str, list[str]] = table("system_libraries")["brings"]["packages"]
    names = {name.partition("=")[0].partition(":")[0] for name in packages}
    there = names | {other for name in names for other in brings.get(name, ())}
    return {library for library, package in _holders().items() if package in there}


def is_optional(path: str) -> bool:
    """Whether a file of a package is loaded only where its libraries are there."""
    return any(fnmatch(path, row["files"]) for row in table("system_libraries")["optional"])


def _holders() -> dict[str, str]:
    known: dict[str, str] = table("system_libraries")["debian"]["libraries"]
    return known
