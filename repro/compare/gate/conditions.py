"""What differs between the places where the runs ran, sorted by what it can do to numbers."""

import tomllib
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from repro import redact
from repro.compare.side import Side
from repro.model.record import Json
from repro.model.verdict import SIGNALS, Condition

RISKS = ("high", "medium", "low", "none")
_FILES = 240  # the recorder hears of 256, and some of them it does not name
COMPUTE = ("forward", "loss", "gradient", "update", "weights")


@dataclass(frozen=True)
class Row:
    """What a difference in conditions named like `pattern` can do, and who says so.

    Attributes:
        acts: signals that it can be the first to change; `compute` stands for forward to weights.
        size: `rounding` when by itself it moves last bits only, else `any`.
        only: kind of device without which it has no effect, empty for any.
    """

    pattern: str
    risk: str
    why: str
    source: str
    acts: list[str] = field(default_factory=lambda: list(SIGNALS))
    size: str = "any"
    only: str = ""

    def reaches(self, signal: str) -> bool:
        """Whether a difference can show in this signal first."""
        return signal in self.acts or ("compute" in self.acts and signal in COMPUTE)


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
    kinds = {side.run.conditions.get("device.type") for side in (a, b)} - {None}
    names = {name for name in {*x, *y} if x.get(name) != y.get(name)} - _elsewhere(x, y)
    found = [_condition(name, x.get(name), y.get(name), kinds) for name in names]
    return sorted(found, key=lambda c: (RISKS.index(c.risk), c.key))


def _elsewhere(x: Json, y: Json) -> set[str]:
    """Files of one side that the other read under another name, or perhaps past the recorder's limit."""
    p, q = ({name for name in side if name.startswith("files.")} for side in (x, y))
    if max(len(p), len(q)) >= _FILES:
        return p ^ q
    lone = [Counter(str(side[name]) for name in mine) for side, mine in ((x, p - q), (y, q - p))]
    moved = lone[0] & lone[1]
    return {name for name in p - q if str(x[name]) in moved} | {
        name for name in q - p if str(y[name]) in moved
    }


def _condition(name: str, x: Any, y: Any, kinds: set[Any]) -> Condition:
    row = row_for(name)
    if row.only and kinds and row.only not in kinds:
        why = f"without effect here: both runs computed on {' and '.join(sorted(map(str, kinds)))}"
        return Condition(key=name, a=_shown(x), b=_shown(y), risk="none", why=why)
    return Condition(key=name, a=_shown(x), b=_shown(y), risk=row.risk, why=row.why)


def _shown(value: Any) -> Any:
    return redact.text(value) if isinstance(value, str) else value
