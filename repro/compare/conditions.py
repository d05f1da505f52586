"""What differs between the places where the runs ran, sorted by what it can do to numbers."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from repro import redact
from repro.compare.side import Side
from repro.model.verdict import Condition

RISKS = ("high", "medium", "low", "none")


@dataclass(frozen=True)
class Row:
    """What a difference in conditions named like `pattern` can do, and who says so."""

    pattern: str
    risk: str
    why: str
    source: str


@cache
def table() -> tuple[Row, ...]:
    """The rows of `data/conditions.toml`, in order: the first that fits a name counts."""
    text = (files("repro") / "data" / "conditions.toml").read_text("utf-8")
    return tuple(Row(**row) for row in tomllib.loads(text)["condition"])


def row_for(name: str) -> Row:
    """The row that fits a condition's name; an unknown one is of medium risk and says that it is unknown."""
    unknown = Row(name, "medium", "not in the table: what it can do is unknown", "")
    return next((row for row in table() if fnmatchcase(name, row.pattern)), unknown)


def differing(a: Side, b: Side) -> list[Condition]:
    """Conditions that differ, highest risk first; none when one side recorded no conditions at all."""
    x, y = a.run.conditions, b.run.conditions
    if not x or not y:
        return []
    found = [_condition(name, x.get(name), y.get(name)) for name in {*x, *y} if x.get(name) != y.get(name)]
    return sorted(found, key=lambda c: (RISKS.index(c.risk), c.key))


def _condition(name: str, x: Any, y: Any) -> Condition:
    row = row_for(name)
    return Condition(key=name, a=_shown(x), b=_shown(y), risk=row.risk, why=row.why)


def _shown(value: Any) -> Any:
    return redact.text(value) if isinstance(value, str) else value
