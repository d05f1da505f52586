"""What pip makes of a wheel, written straight from it: files in place, scripts, RECORD.

The same bytes as `pip install --no-compile` gives in /opt/env (pip 20 to 26; held against pip by a test),
without an interpreter and for any version of Python.
"""

import base64
import csv
import hashlib
import io
import posixpath
import re
import stat
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from repro.image.layers.scripts import console_names, fixed, launcher
from repro.tarball import Content, Member

ENV = "opt/env"
_SCHEMES = {"purelib": "{site}", "platlib": "{site}", "scripts": "bin", "data": "", "headers": "{include}"}


class UnusualError(ValueError):
    """A wheel that only pip itself can lay; the text says why."""


@dataclass(frozen=True)
class Target:
    """Where wheels go: Python `3.11`, and the text that the installing pip makes scripts of."""

    python: str
    template: str

    @property
    def site(self) -> str:
        """Packages, relative to the environment."""
        return f"lib/python{self.python}/site-packages"


@dataclass(frozen=True)
class _File:
    name: str  # in the wheel
    place: str  # relative to the environment
    member: Member
    changed: bool = False


def members(wheel: ZipFile, target: Target) -> list[Member]:
    """What lies below /opt/env when the wheel is installed; `wheel` stays open while they are read.

    Raises:
        UnusualError: a file has no usual place, or its metadata are not as pip takes them.
    """
    try:
        info = _info_folder(wheel)
        wrapped, gui = _entry_points(wheel, info)
        files = [_file(wheel, entry, target) for entry in wheel.infolist() if not entry.is_dir()]
        files = [file for file in files if not _is_wrapper(file, {**wrapped, **gui})]
        made = [
            *_scripts({**wrapped, **gui}, target),
            Member(f"{target.site}/{info}/INSTALLER", b"pip\n"),
            Member(f"{target.site}/{info}/REQUESTED", b""),
        ]
        record = Member(f"{target.site}/{info}/RECORD", _record(wheel, info, files, made, target))
    except (BadZipFile, KeyError, UnicodeDecodeError) as problem:
        raise UnusualError(str(problem)) from problem
    return [_below(member) for member in (*(file.member for file in files), *made, record)]


def placed(wheel: ZipFile, target: Target) -> list[Member]:
    """The files of a wheel alone, at their places below /opt/env; raises UnusualError."""
    try:
        files = [_file(wheel, entry, target) for entry in wheel.infolist() if not entry.is_dir()]
    except (BadZipFile, UnicodeDecodeError) as problem:
        raise UnusualError(str(problem)) from problem
    return [_below(file.member) for file in files]


def _below(member: Member) -> Member:
    return Member(f"{ENV}/{member.name}", member.source, executable=member.executable)


def _info_folder(wheel: ZipFile) -> str:
    found = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    tops = sorted(name for name in found if name.endswith(".dist-info"))
    if len(tops) != 1:
        raise UnusualError(f"{len(tops)} folders with metadata")
    return tops[0]


def _file(wheel: ZipFile, entry: ZipInfo, target: Target) -> _File:
    name = posixpath.normpath(entry.filename)
    if name.startswith(("/", "../")) or name == "..":
        raise UnusualError(f"`{entry.filename}` leads out of it")
    place, is_script = _place(name, target)
    mode = entry.external_attr >> 16
    executable = stat.S_ISREG(mode) and bool(mode & 0o111)
    if is_script:
        data = wheel.read(entry)
        laid = fixed(data)
        return _File(entry.filename, place, Member(place, laid, executable=executable), changed=laid != data)
    content = Content(entry.file_size, lambda: wheel.open(entry))
    return _File(entry.filename, place, Member(place, content, executable=executable))


def _place(name: str, target: Target) -> tuple[str, bool]:
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return f"{target.site}/{name}", False
    key, _, inner = rest.partition("/")
    if key not in _SCHEMES or not inner:
        raise UnusualError(f"`{name}` has no usual place")
    project = top.partition("-")[0]
    folder = _SCHEMES[key].format(site=target.site, include=f"include/site/python{target.python}/{project}")
    return posixpath.join(folder, inner), key == "scripts"


def _entry_points(wheel: ZipFile, info: str) -> tuple[dict[str, str], dict[str, str]]:
    """Console and graphical scripts, name to `module:function`, in the order of the file."""
    try:
        text = wheel.read(f"{info}/entry_points.txt").decode("utf-8")
    except KeyError:
        return {}, {}
    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    console, gui = (
        dict(parser.items(group)) if parser.has_section(group) else {}
        for group in ("console_scripts", "gui_scripts")
    )
    return console, gui


def _is_wrapper(file: _File, points: dict[str, str]) -> bool:
    """Whether a script is one that pip makes anew from the entry points."""
    if not re.match(r"[^/]+\.data/scripts/", file.name):
        return False
    name = posixpath.basename(file.place)
    plain = re.sub(r"(\.exe|-script\.py|\.pya)$", "", name, flags=re.IGNORECASE)
    return plain in points


def _scripts(points: dict[str, str], target: Target) -> Iterator[Member]:
    for name, value in console_names(points, target.python).items():
        text = launcher(name, value, target.template)
        yield Member(f"bin/{name}", text, executable=True)


def _record(wheel: ZipFile, info: str, files: list[_File], made: list[Member], target: Target) -> bytes:
    """RECORD as pip writes it: the wheel's rows with the files' new places, rows of what was made, sorted."""
    left = {file.name: file for file in files}
    rows: list[tuple[str, str, str]] = []
    for row in csv.reader(wheel.read(f"{info}/RECORD").decode("utf-8").splitlines()):
        if not row:
            continue
        file = left.pop(row[0], None)
        path = _relative(file.place, target) if file else row[0]
        digest, size = (*row[1:3], "", "")[:2]
        if file and file.changed:
            digest, size = _digest(file.member)
        rows.append((path, digest, size))
    rows += [(_relative(member.name, target), *_digest(member)) for member in made]
    rows += [(_relative(file.place, target), "", "") for file in left.values()]
    out = io.StringIO(newline="")
    csv.writer(out).writerows(sorted(rows))
    return out.getvalue().encode()


def _relative(place: str, target: Target) -> str:
    return posixpath.relpath(place, target.site)


def _digest(member: Member) -> tuple[str, str]:
    data = member.source if isinstance(member.source, bytes) else b""
    text = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"sha256={text}", str(len(data))


def unpacked_bytes(wheel: Path) -> int:
    """Bytes of all files in a wheel."""
    with ZipFile(wheel) as zipped:
        return sum(entry.file_size for entry in zipped.infolist())
