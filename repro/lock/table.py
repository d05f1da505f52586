"""The tables of package names that the lock reads: what a name means, and what is only guessed."""

from functools import cache

from repro.tables.read import table

__all__ = ["guessed", "known", "table"]


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
