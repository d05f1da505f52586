"""The tables in `data/` that the lock reads, each parsed once."""

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
def torch_releases() -> dict[str, dict[str, Any]]:
    """Rows of `torch_releases.toml` by version, oldest first."""
    return {row["version"]: row for row in table("torch_releases")["release"]}
