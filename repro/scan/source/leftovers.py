"""Compiled files that lie in the code: build folders and shared objects from another machine."""

import re
from collections.abc import Iterable

from repro.model.check import SourceFact

# What setuptools and ninja leave: build/temp.linux-x86_64-3.8, build/lib.linux-x86_64-cpython-310.
_BUILD = re.compile(
    r"^(?P<folder>(?:.*/)?build/(?:temp|lib)\.[\w.-]+)/.+\.(?:so|o|a)$|^(?P<other>(?:.*/)?build)/.+\.(?:so|o)$"
)
_OBJECT = re.compile(r"\.(?:so(?:\.\d+)*|cubin|fatbin)$")


def leftovers(names: Iterable[str]) -> list[SourceFact]:
    """One fact for each build folder with compiled files, and one for each other shared object."""
    found: dict[str, str] = {}
    for name in names:
        if match := _BUILD.match(name):
            found.setdefault(
                match["folder"] or match["other"], f"compiled files, as {name.rpartition('/')[2]}"
            )
        elif _OBJECT.search(name):
            found.setdefault(name, "a compiled file in the code")
    return [SourceFact(kind="build-folder", where=where, text=text) for where, text in found.items()]
