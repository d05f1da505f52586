"""What a thing that differs can have changed: which signals first, and by how much.

For conditions `data/conditions.toml` says it, for parameters, options and settings `data/parameters.toml`.
"""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from repro.compare.causes.evidence import GATE, Evidence
from repro.compare.gate.conditions import COMPUTE, Row, row_for

SETTINGS = ("optimizer", "model", "unseeded", "library")
# Parameters that are the same thing as a condition, by a part of their name.
_FOLLOWS = {
    "seed.": ("seed",),
    "loader.": ("worker", "batch", "shuffle", "drop_last", "sampler"),
    "threads.": ("thread",),
    "flags.": ("precision", "amp", "dtype", "tf32", "compile", "determin"),
    "optimizer.": (),
    "model.": (),
    "files.": (),
}


@dataclass(frozen=True)
class _Setting:
    pattern: str
    acts: list[str]
    source: str = ""


def can(name: str, known: Evidence) -> bool:
    """Whether this difference can be the first to show where the runs part, and by as much."""
    if is_asked(name) or name.partition(".")[0] in SETTINGS:
        acts = _acts(name)
        return acts is None or _in(known.first, acts)
    row = row_for(name)
    return row.risk != "none" and row.reaches(known.first) and not _too_large(row, known)


def is_asked(name: str) -> bool:
    """Whether it is a thing that the user asked for: a parameter, a word of the command, the code."""
    return name.partition(".")[0] in GATE or name.startswith("modules.")


def follows(name: str, taken: set[str]) -> bool:
    """Whether a condition is what parameters that differ led to: settings of the loader, of the optimizer."""
    asked = [other for other in taken if is_asked(other)]
    for start, parts in _FOLLOWS.items():
        if name.startswith(start):
            return bool(asked) and (not parts or any(part in other for other in asked for part in parts))
    return False


def _too_large(row: Row, known: Evidence) -> bool:
    """Whether the first difference is larger than rounding, and this can move last bits only."""
    if row.size != "rounding":
        return False
    if known.first == "init":
        return known.has("init~large") or known.has("init~shorter")
    return known.has("loss~large") or known.has("gradient~large")


def _acts(name: str) -> list[str] | None:
    return next((row.acts for row in _settings() if fnmatchcase(name, row.pattern)), None)


def _in(signal: str, acts: list[str]) -> bool:
    return signal in acts or ("compute" in acts and signal in COMPUTE)


@cache
def _settings() -> tuple[_Setting, ...]:
    text = (files("repro") / "data" / "parameters.toml").read_text("utf-8")
    return tuple(_Setting(**row) for row in tomllib.loads(text)["parameter"])
