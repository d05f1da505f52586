"""Finds the settings file of a project and reads its text: `repro.toml`, or a table in pyproject.toml."""

import tomllib
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.project.decode import Source

SETTINGS = "repro.toml"
PYPROJECT = "pyproject.toml"


def find(root: Path) -> tuple[Source | None, dict[str, Any]]:
    """The settings file with its table, or None and an empty one.

    Raises:
        config-two-files: both files hold settings.
        config-unreadable: a file is not UTF-8 text or may not be read.
        config-syntax: not TOML.
    """
    own = root / SETTINGS
    has_own = own.exists() or own.is_symlink()
    own_table = parse(own) if has_own else {}
    shared = _tool_table(root / PYPROJECT, tolerant=has_own)
    if own_table and shared:
        raise ReproError(
            "config-two-files",
            f"both `{SETTINGS}` and `[tool.repro]` in `{PYPROJECT}` hold settings",
            found=[f"{SETTINGS}: {', '.join(own_table)}", f"{PYPROJECT}: {', '.join(shared)}"],
            needs="one of the two",
            tries=f"move the settings of `[tool.repro]` into `{SETTINGS}` and remove that table",
        )
    if has_own and not shared:
        return Source(SETTINGS, read(own)), own_table
    if shared:
        return Source(PYPROJECT, read(root / PYPROJECT), "tool.repro."), shared
    return None, {}


def _tool_table(path: Path, *, tolerant: bool) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        table = parse(path).get("tool", {}).get("repro", {})
    except ReproError:
        # With a repro.toml beside it, a broken pyproject.toml is not ours to complain about.
        if tolerant:
            return {}
        raise
    if not isinstance(table, dict):
        raise ReproError(
            "config-type", f"`{path.name}`: `tool.repro` is not a table", found=repr(table), needs="a table"
        )
    return table


def read(path: Path) -> str:
    """Text of a settings file, without a byte order mark."""
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise ReproError(
            "config-unreadable",
            f"`{path.name}` cannot be read",
            found=str(reason),
            needs="a TOML file in UTF-8",
            tries=f"file {path.name}",
        ) from None


def parse(path: Path) -> dict[str, Any]:
    """Content of a TOML file, or the error with its line."""
    try:
        return tomllib.loads(read(path))
    except tomllib.TOMLDecodeError as problem:
        raise ReproError(
            "config-syntax",
            f"`{path.name}` is not valid TOML",
            found=str(problem),
            why="text needs quotes, a key may stand once, a table `[name]` may be opened once",
            tries=f"correct that line of `{path.name}`",
        ) from None
