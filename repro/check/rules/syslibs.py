"""Libraries that compiled files ask for and nothing provides: libGL and its like, with the Debian package."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from repro.check.code.loader import Files, search_path
from repro.check.finding import finding
from repro.model.binary import BinaryFacts
from repro.model.check import Finding, Stack, Target
from repro.tables.systemlibs import comes_from, debian_package, is_optional, libraries_of

# What Python imports: `_C.so`, `cv2.abi3.so`, `x.cpython-310-x86_64-linux-gnu.so`; libraries are `lib*`.
_MODULE = re.compile(r"(?!lib)\w+(?:\.abi3|\.cpython-[\w-]+|\.pypy[\w-]+)?\.so$")

_OF_TORCH = ("libtorch", "libc10")


def system_libraries(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on libraries that neither the packages nor the base image bring, by package and kind."""
    if stack.system != "linux":
        return
    around = _Around(Files(stack.binaries), libraries_of(stack.system_packages), stack.libraries)
    for owner, own in _by_owner(stack.binaries).items():
        paths = {facts.path for facts in own}
        loaded = [f for f in around.files.loaded(filter(_is_module, own)) if f[0].path in paths]
        needed = {name for facts, places in loaded for name in around.missing(facts, places)}
        every = {name for facts in own for name in around.missing(facts, search_path(facts))}
        yield from _tell(owner, sorted(needed), sorted(every - needed), stack)


@dataclass(frozen=True)
class _Around:
    """What surrounds a file: other files, libraries of added Debian packages, those of a known image."""

    files: Files
    added: set[str]
    libraries: list[str] | None

    def missing(self, facts: BinaryFacts, places: tuple[str, ...]) -> list[str]:
        """Libraries that a file asks for and nothing brings; none for another maker's card."""
        wanted = facts.elf.needed if facts.elf else []
        if any(comes_from(name, "foreign") for name in wanted):
            return []
        left = [name for name in wanted if name not in self.added and not self.files.find(name, places)]
        if any(name.startswith(_OF_TORCH) for name in wanted):
            left = [name for name in left if not self.files.comes_with_torch(name)]
        return [name for name in left if not self._is_there(name)]

    def _is_there(self, name: str) -> bool:
        """Whether the driver, torch's surroundings or the base bring a library."""
        if comes_from(name, "driver") or comes_from(name, "beside"):
            return True
        if self.libraries is not None:
            return name in self.libraries
        return comes_from(name, "glibc") or comes_from(name, "slim")


def _tell(owner: str, needed: list[str], spare: list[str], stack: Stack) -> Iterator[Finding]:
    named = [name for name in needed if debian_package(name)]
    unnamed = [name for name in needed if not debian_package(name)]
    base = "the image" if stack.libraries is not None else "a slim Debian image"
    if named:
        headless = f"or {owner}-headless, where no window is opened"
        fix = [_system(named)] + ([headless] if owner.startswith("opencv") and "libGL.so.1" in named else [])
        found = f"{owner} needs {_list(named)}, which {base} lacks"
        yield finding("system-library", found, needed=_packages(named), fix=fix, where=owner)
    if unnamed:
        found = f"{owner} needs {_list(unnamed)}, which neither the packages nor {base} are known to have"
        fix = [f"apt-file search {unnamed[0]}      (to find the Debian package), then `dependencies.system`"]
        yield finding("system-library-unknown", found, fix=fix, where=owner)
    if spare:
        found = f"files of {owner} that its modules do not load by themselves need {_list(spare)}"
        known = [name for name in spare if debian_package(name)]
        yield finding(
            "system-library-optional",
            found,
            needed=_packages(known),
            fix=[_system(known)] if known else [],
            where=owner,
        )


def _by_owner(binaries: Iterable[BinaryFacts]) -> dict[str, list[BinaryFacts]]:
    found: dict[str, list[BinaryFacts]] = defaultdict(list)
    for facts in binaries:
        if facts.elf is not None:
            found[facts.owner or PurePosixPath(facts.path).parts[0]].append(facts)
    return found


def _is_module(facts: BinaryFacts) -> bool:
    return not is_optional(facts.path) and _MODULE.fullmatch(PurePosixPath(facts.path).name) is not None


def _packages(libraries: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(f"Debian package {debian_package(name)}" for name in libraries))


def _system(libraries: Iterable[str]) -> str:
    names = ", ".join(f'"{name}"' for name in dict.fromkeys(map(debian_package, libraries)))
    return f"repro.toml, below [dependencies]: system = [{names}]"


def _list(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
