"""What a program wrote, file by file and piece by piece, so that two runs can be held beside one another.

A piece is a member of a zip archive (torch's checkpoints and numpy's archives are some: one member a tensor),
a value of a JSON table by its dotted name, a line of a text, or the whole of any other file. Nothing is
unpickled.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from repro.files import sha256_bytes, sha256_file

Pieces = dict[str, str]
LOG = "log.txt"
WHOLE = "whole"
TENSOR = "tensor "
_FOLDERS = ("out", "work")
_MOST_TEXT = 16 << 20


def outputs(attempt: Path) -> dict[str, Pieces]:
    """The pieces of each file that the program of an attempt left, by its path there, and of its output."""
    files = [p for name in _FOLDERS for p in sorted((attempt / name).rglob("*")) if p.is_file()]
    files += [attempt / LOG] if (attempt / LOG).is_file() else []
    return {path.relative_to(attempt).as_posix(): dict(_pieces(path)) for path in files}


def _pieces(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_symlink():
        yield WHOLE, f"link to {path.readlink()}"
    elif zipfile.is_zipfile(path):
        yield from _members(path)
    elif path.stat().st_size > _MOST_TEXT or (text := _text(path)) is None:
        yield WHOLE, sha256_file(path)
    else:
        yield from (_values(text) if path.suffix == ".json" else None) or _lines(text)


def _members(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                yield _named(member.filename), sha256_bytes(archive.read(member))
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError):
        yield WHOLE, sha256_file(path)


def _named(member: str) -> str:
    """PyTorch writes each storage as `NAME/data/NUMBER`, numpy each array as `NAME.npy`."""
    parts = member.split("/")
    is_tensor = parts[-2:-1] == ["data"] or member.endswith(".npy")
    return f"{TENSOR}{member}" if is_tensor else member


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def _lines(text: str) -> Iterator[tuple[str, str]]:
    return ((f"line {number}", line) for number, line in enumerate(text.splitlines(), 1))


def _values(text: str) -> Iterator[tuple[str, str]] | None:
    """The values of a JSON document by dotted name; None for what is no JSON."""
    try:
        document = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return _leaves(document, "")


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    rows: list[tuple[str, object]] = []
    if isinstance(value, dict):
        rows = [(f"{name}.{key}" if name else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        rows = [(f"{name}.{place}" if name else str(place), item) for place, item in enumerate(value)]
    if not rows:
        yield name or WHOLE, repr(value)
    for key, item in rows:
        yield from _leaves(item, key)
