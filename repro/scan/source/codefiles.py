"""The files of a project's code that say something: names of all, texts of those that are read."""

import os
from collections.abc import Iterator
from pathlib import Path

from repro.scan.source.buildscripts import is_script

MAX_FILES = 20_000
MAX_BYTES = 1 << 20

_SKIP = {".git", ".hg", ".svn", ".repro", ".tox", ".nox", "node_modules", "__pycache__", "site-packages"}
# Scripts that build releases elsewhere: their targets say nothing of what is compiled for a training.
_ELSEWHERE = {".github", ".gitlab", ".circleci", ".azure-pipelines", ".buildkite", ".jenkins", ".travis"}


def is_read(name: str) -> bool:
    """Whether the text of a file counts; of others the name alone does."""
    if not _ELSEWHERE.isdisjoint(name.split("/")[:-1]):
        return False
    return name.endswith((".py", "pyproject.toml")) or is_script(name)


def code_files(root: Path) -> Iterator[tuple[str, str]]:
    """(name relative to `root`, text) in a fixed order; the text is empty for what is not read.

    Links are not followed. Environments, version control and files above 1 MiB are left out, and files
    after the first 20 000.
    """
    for count, path in enumerate(_files(root)):
        if count >= MAX_FILES:
            return
        name = path.relative_to(root).as_posix()
        yield name, _text(path) if is_read(name) else ""


def plain_text(data: bytes) -> str:
    """Text of a file's content, empty for what is too big or is no text."""
    if len(data) > MAX_BYTES or b"\0" in data[:4096]:
        return ""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        place = Path(folder)
        folders[:] = sorted(f for f in folders if f not in _SKIP and not (place / f / "pyvenv.cfg").is_file())
        yield from (place / name for name in sorted(names) if not (place / name).is_symlink())


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return ""
        return plain_text(path.read_bytes())
    except OSError:
        return ""
