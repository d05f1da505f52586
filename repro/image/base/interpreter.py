"""An interpreter of this machine as a tar to lay below /usr/local of a base image.

For Pythons that no Debian suite carries. What other programs put into its site-packages, its
own tests and what only a compiler needs stay behind; paths of this machine are taken out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from repro import tarball
from repro.errors import ReproError

_HOME = "/usr/local"
# Below the interpreter's folder; X.Y stands for digits.
_LEFT_OUT = re.compile(
    r"(share|include|lib/pkgconfig)(/|$)|.*\.a$|.*\.py[co]$|(.*/)?__pycache__(/|$)"
    r"|lib/python\d\.\d+/(idlelib|turtledemo|tkinter|(.*/)?tests?|config-[^/]+)(/|$)"
    r"|lib/python\d\.\d+/lib-dynload/_tkinter"
    r"|lib/python\d\.\d+/site-packages/"
    r"|bin/(?!python)|bin/python.*-(config|gdb\.py)$"
)


@dataclass(frozen=True)
class Interpreter:
    """Where it is installed, and its full version."""

    home: Path
    version: str

    @property
    def short(self) -> str:
        """`3.8` of `3.8.18`."""
        return ".".join(self.version.split(".")[:2])


def interpreter_of(python: Path, version: str) -> Interpreter:
    """The installation that `python` belongs to; raises base-create-failed when it cannot be moved."""
    real = python.resolve()
    home = real.parent.parent
    if not (home / "lib" / f"python{version.rpartition('.')[0]}" / "os.py").is_file():
        raise ReproError(
            "base-create-failed",
            f"`{python}` is no interpreter that can be laid into an image",
            found=f"no standard library below `{home}/lib`",
            needs="an installation with `bin` and `lib` in one folder, as pyenv makes it",
        )
    return Interpreter(home, version)


def write(interpreter: Interpreter, out: IO[bytes]) -> None:
    """Write the tar."""
    tarball.write(out, [*_files(interpreter), *_names(interpreter)])


def _files(interpreter: Interpreter) -> Iterator[tarball.Member]:
    for member in tarball.folder_members(interpreter.home, ""):
        if _LEFT_OUT.match(member.name):
            continue
        if isinstance(member.source, Path):
            data = without_home(member.source.read_bytes(), interpreter.home)
            yield tarball.Member(member.name, data, executable=member.executable)
        else:
            yield member


def _names(interpreter: Interpreter) -> list[tarball.Member]:
    """The words by which it is called, whatever links the installation has."""
    return [
        tarball.Member(f"bin/{word}", link=f"python{interpreter.short}") for word in ("python3", "python")
    ]


def without_home(data: bytes, home: Path) -> bytes:
    """`data` with the installation's folder replaced by /usr/local.

    In a binary the length must stay, and slashes fill it: a path may have any number of them.
    """
    if b"\0" not in data[:4096]:
        return data.replace(str(home).encode(), _HOME.encode())
    # Linkers share endings of strings: the version text "3.8.18" may lie inside ".../versions/3.8.18",
    # so a path that ends with the folder's own name keeps that name.
    return _filled(_filled(data, home), home.parent)


def _filled(data: bytes, folder: Path) -> bytes:
    """Same length; a folder with a name shorter than the new one is left in."""
    old, new = str(folder).encode(), _HOME.encode()
    return data.replace(old + b"/", new.ljust(len(old), b"/") + b"/") if len(old) >= len(new) else data
