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
def known(section: str) -> dict[str, str]:
    """Names in a grouped section of `package_names.toml` and what each means; a mere list has empty texts."""
    found: dict[str, str] = {}
    for group in table("package_names")[section]:
        names = group["names"]
        found |= names if isinstance(names, dict) else dict.fromkeys(names, "")
    return found


@cache
def guessed(section: str) -> frozenset[str]:
    """Names in a grouped section of `package_names.toml` for which no source speaks."""
    groups = table("package_names")[section]
    return frozenset(name for group in groups if group["source"] == "guess" for name in group["names"])


@cache
def torch_releases() -> dict[str, dict[str, Any]]:
    """Rows of `torch_releases.toml` by version, oldest first."""
    return {row["version"]: row for row in table("torch_releases")["release"]}
