"""Names of the whole-number parameters in a parameter file, to guess which one is the seed or the batch."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

_READERS: dict[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
    ".toml": tomllib.loads,
}


def names_in(path: Path) -> list[str]:
    """Dotted names of whole numbers, those at the top first; none when the file cannot be read.

    Whether the file is right is judged where the parameters are packed, not here.
    """
    try:
        values = _READERS[path.suffix](path.read_text("utf-8-sig"))
        return sorted(_flat(values, "", 0), key=lambda name: name.count("."))
    except (KeyError, OSError, ValueError, yaml.YAMLError, RecursionError):
        return []


def _flat(values: Any, at: str, depth: int) -> list[str]:
    found: list[str] = []
    for key, value in values.items() if isinstance(values, dict) and depth < 5 else ():
        if isinstance(value, int) and not isinstance(value, bool):
            found.append(f"{at}{key}")
        found += _flat(value, f"{at}{key}.", depth + 1)
    return found
