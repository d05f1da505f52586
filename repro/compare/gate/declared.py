"""What was declared of a run before it was made: metrics with their margins, a target, the seed."""

from dataclasses import dataclass
from typing import Any

from repro.compare.side import Side
from repro.model.record import Json


@dataclass(frozen=True)
class Declared:
    """What decides the second question.

    Attributes:
        margins: for each declared metric, the deciding one first, its margin; None where there is none.
        target: value of the deciding metric that a run has to reach, None when there is none.
        higher: a higher value of the deciding metric is better.
    """

    margins: dict[str, float | None]
    target: float | None = None
    higher: bool = True

    @property
    def metric(self) -> str:
        """The one that decides; empty without one."""
        return next(iter(self.margins), "")


def declared(*sides: Side) -> Declared:
    """The declaration of the first side that has a protocol."""
    table = next((found for side in sides if (found := _table(side))), Json())
    margins: dict[str, float | None] = {}
    if metric := str(table.get("metric") or ""):
        margins[metric] = _number(table.get("margin"))
    further = table.get("margins")
    for name, margin in (further if isinstance(further, dict) else {}).items():
        margins.setdefault(name, _number(margin))
    return Declared(margins, _number(table.get("target")), table.get("better") != "lower")


def seed_of(side: Side) -> Any:
    """What tells a run's start from others: the declared seed, else its seed checkpoint; None if unknown."""
    if (name := _seed_name(side)) and (found := _at(side.run.params, name)) is not None:
        return found
    seed = _table(side).get("seed")
    return seed if seed is not None else (side.run.attempt.plan.get("seed") or None)


def seed_keys(a: Side, b: Side) -> tuple[str, ...]:
    """Keys of the protocol gate that differ because the seeds do; none for runs of one seed."""
    if seed_of(a) == seed_of(b):
        return ()
    name = _seed_name(a)
    return ("protocol.seed", "seed_checkpoint", *([f"params.{name}"] if name else []))


def _table(side: Side) -> Json:
    table = side.run.protocol.get("protocol")
    return table if isinstance(table, dict) else {}


def _seed_name(side: Side) -> str:
    names = _table(side).get("parameters")
    return str(names.get("seed") or "") if isinstance(names, dict) else ""


def _at(values: Json, dotted: str) -> Any:
    found: Any = values
    for part in [dotted] if dotted in values else dotted.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, int | float | str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
