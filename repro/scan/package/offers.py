"""What a file system offers to the programs in it: shared libraries, C library, release, Python."""

import posixpath
import re

from repro.scan.package.candidates import is_shared_name

_LIBC_NAME = re.compile(r"libc-(\d+\.\d+)\.so")
_LIBC_TEXT = re.compile(rb"stable release version (\d+\.\d+)")
_LIBC_PLACES = re.compile(r"(?:usr/)?lib(?:64)?/(?:(?:x86_64|aarch64)-linux-gnu/)?[^/]+")
_OS_RELEASE = ("etc/os-release", "usr/lib/os-release")
_SITE = re.compile(r"python(\d+\.\d+)/(?:site|dist)-packages$")
_INTERPRETER = re.compile(r"(?:usr/)?(?:local/)?bin/python(\d+\.\d+)")
_LINE = re.compile(r"^([A-Z_]+)=[\"']?(.*?)[\"']?$", re.MULTILINE)


class Offers:
    """Gathers names and the few contents that matter, in whatever order they come.

    Attributes:
        libraries: names of shared objects; glibc: version; os_release: fields of the release file.
    """

    def __init__(self) -> None:
        self.libraries: set[str] = set()
        self.glibc = ""
        self.os_release: dict[str, str] = {}
        self._pythons: set[str] = set()

    def name(self, path: str) -> None:
        """Take the name of a file or link."""
        last = posixpath.basename(path)
        if is_shared_name(last):
            self.libraries.add(last)
        if (libc := _LIBC_NAME.fullmatch(last)) and _LIBC_PLACES.fullmatch(path):
            self.glibc = libc[1]
        if python := _INTERPRETER.fullmatch(path):
            self._pythons.add(python[1])

    def wants(self, path: str) -> bool:
        """Whether the file is one to give to `content`."""
        return path in _OS_RELEASE or (path.endswith("/libc.so.6") and bool(_LIBC_PLACES.fullmatch(path)))

    def content(self, path: str, data: bytes) -> None:
        """Take a file that `wants` named."""
        if path in _OS_RELEASE:
            self.os_release = dict(_LINE.findall(data.decode("utf-8", "replace")))
        elif said := _LIBC_TEXT.search(data):
            self.glibc = said[1].decode()

    def python(self, site: str) -> str:
        """Minor of the interpreter whose site-packages is `site`, else of the only one there is."""
        if found := _SITE.search(site):
            return found[1]
        return next(iter(self._pythons)) if len(self._pythons) == 1 else ""
