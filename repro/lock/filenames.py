"""What the name of a wheel or source archive says: project, version, Python and system."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

_WHEEL = re.compile(
    r"^(?P<name>[\w.]+)-(?P<version>[\w.+!]+)(?:-\d\w*)?-(?P<python>[\w.]+)-(?P<abi>[\w.]+)-(?P<system>[\w.]+)\.whl$"
)
_ARCHIVE = re.compile(r"^(?P<name>[A-Za-z][\w.-]*?)-(?P<version>\d[\w.+!]*)\.(?:tar\.gz|zip|tgz|tar\.bz2)$")


@dataclass(frozen=True)
class Named:
    """Parts of a file name; `python` and `system` are tags as `cp38` and `linux_x86_64`, or empty."""

    name: str
    version: str
    python: str = ""
    system: str = ""

    @property
    def minors(self) -> list[str]:
        """Python minors that the tags name, as `3.8`; none for a file that fits every Python."""
        return [
            f"{major}.{minor}"
            for major, minor in re.findall(r"cp(\d)(\d+)", self.python)
            if "abi3" not in self.python
        ]

    @property
    def is_for_linux(self) -> bool:
        """Whether the file can be meant for Linux."""
        return not self.system or "any" in self.system.split(".") or "linux" in self.system


def named_in(address: str) -> Named | None:
    """What the last part of an address or path says, or None when it is no package file."""
    file = unquote(address.split("#")[0].split("?")[0].replace("\\", "/").rsplit("/", 1)[-1])
    wheel = _WHEEL.match(file)
    if wheel:
        python = wheel["python"] + (".abi3" if wheel["abi"] == "abi3" else "")
        return Named(wheel["name"], wheel["version"], python, wheel["system"])
    archive = _ARCHIVE.match(file)
    return Named(archive["name"], archive["version"]) if archive else None
