"""The tables in `data/`, each parsed once."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Content of `data/NAME.toml`."""
    loaded: dict[str, Any] = tomllib.loads((files("repro") / "data" / f"{name}.toml").read_text("utf-8"))
    return loaded


@cache
def folder(name: str) -> dict[str, dict[str, Any]]:
    """Rows of all tables in `data/NAME/` by their keys, files in order of their names."""
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted((files("repro") / "data" / name).iterdir(), key=lambda p: p.name):
        rows |= tomllib.loads(path.read_text("utf-8"))
    return rows
