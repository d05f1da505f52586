"""Reads one entry of a conda file: name, version in pip's words, and what its build string tells."""

import re
from dataclasses import dataclass

from repro.lock.single import BadLine

_ENTRY = re.compile(r"^(?:[\w./:-]+::)?(?P<name>[\w.-]+)\s*(?P<rest>.*)$")
_PINNED = re.compile(r"^(?P<sign>={0,2})\s*(?P<version>[\w.!+*]+)(?:\s*(?:=|\s)\s*(?P<build>[\w.*]+))?$")
_PACKAGE = re.compile(r"/(?P<name>[^/]+)-(?P<version>[^/-]+)-(?P<build>[^/-]+)\.(?:tar\.bz2|conda)(?:#|$)")


@dataclass(frozen=True)
class Spec:
    """An entry. `spec` is pip's, as `==1.8.1`; `build` as conda writes it, empty when the entry has none."""

    name: str
    spec: str
    build: str = ""

    @property
    def is_native(self) -> bool:
        """Whether the build says that it is no Python package: those of Python packages have `py` in them."""
        return bool(self.build) and "py" not in self.build and not self.build.startswith("*")

    @property
    def cuda(self) -> str:
        """The tag that the build of a torch package means: `cu111`, `cpu`, or empty."""
        found = re.search(r"cu(?:da)?_?(\d+)\.?(\d*)", self.build)
        if found:
            return "cu" + found[1] + found[2]
        return "cpu" if re.search(r"(?:^|_)cpu(?:_|$)", self.build) else ""


def parse(entry: str) -> Spec:
    """The parts of an entry such as `pytorch::pytorch=1.8.1=py3.8_cuda11.1_cudnn8_0`.

    Raises:
        BadLine: conda itself would refuse it, or pip has no words for it.
    """
    text = entry.strip().strip("'\"")
    if re.search(r"\s-\s", text):
        raise BadLine(f"`{text}` is two entries on one line; the indentation is not what it seems")
    found = _ENTRY.match(text)
    if not found or "[" in text:
        raise BadLine(f"`{text}` is not read; write `name=version`")
    if "|" in found["rest"]:
        raise BadLine(f"`{text}` names alternatives with `|`, for which pip has no words; choose one range")
    pinned = _PINNED.match(found["rest"])
    if pinned:
        return Spec(found["name"], _exact(pinned), pinned["build"] or "")
    return Spec(found["name"], found["rest"].replace(" ", ""))


def _exact(found: re.Match[str]) -> str:
    """`=1.8` as `==1.8.*`; `=1.8.1`, `==1.8` and `=1.8=build` as they are."""
    version = found["version"]
    if version == "*":
        return ""
    fuzzy = found["sign"] == "=" and not found["build"] and version.count(".") < 2
    return f"=={version.removesuffix('.*')}.*" if fuzzy else f"=={version}"


def of_address(line: str) -> Spec | None:
    """The package that a line of conda's explicit list fetches, or None for another line."""
    found = _PACKAGE.search(line)
    return Spec(found["name"], f"=={found['version']}", found["build"]) if found else None
