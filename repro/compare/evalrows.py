"""The result in the end: final metrics beside the declared margin, and evaluation rows example by example."""

import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from importlib.resources import files
from typing import Any

from repro.compare.equal import same_value
from repro.compare.side import Side
from repro.compare.tally import Tally, number
from repro.model.number import to_text
from repro.model.record import Json
from repro.model.verdict import MetricRow


@dataclass
class Results:
    """What both runs measured in the end.

    Attributes:
        tally: the signal `eval`. metrics, rows: how many values of each were compared.
        flips: counts over the examples that both have; None without rows.
        alone: what only one side has, as sentences.
        unjudged: metrics that measure time, shown and not compared.
    """

    tally: Tally = field(default_factory=Tally)
    table: list[MetricRow] = field(default_factory=list)
    metrics: int = 0
    rows: int = 0
    flips: dict[str, int] | None = None
    alone: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)


def results(a: Side, b: Side, last_step: int) -> Results:
    """Compare final metrics and rows; a difference is placed at `last_step`, after which they were made."""
    found = Results()
    _metrics(found, a, b, last_step)
    _rows(found, a.run.rows, b.run.rows, last_step)
    return found


def declared(a: Side, b: Side) -> tuple[str, float | None]:
    """Name of the declared metric, empty without one, and the margin declared beforehand."""
    table = (a.run.protocol or b.run.protocol).get("protocol")
    table = table if isinstance(table, dict) else {}
    margin = table.get("margin")
    return str(table.get("metric") or ""), float(margin) if isinstance(margin, int | float) else None


def is_time(name: str) -> bool:
    """Whether a metric's name says that it measures time or speed, which no two runs share."""
    return any(fnmatch(name.lower(), pattern) for pattern in _time_patterns())


@cache
def _time_patterns() -> tuple[str, ...]:
    table = (files("repro") / "data" / "metrics.toml").read_text("utf-8")
    return tuple(tomllib.loads(table)["recorded_only"]["names"])


def _metrics(found: Results, a: Side, b: Side, step: int) -> None:
    x = a.run.metrics.values if a.run.metrics else {}
    y = b.run.metrics.values if b.run.metrics else {}
    chosen, margin = declared(a, b)
    for name in sorted({*x, *y}, key=lambda n: (n != chosen, n)):
        p, q = x.get(name), y.get(name)
        found.table.append(_metric_row(name, p, q, margin if name == chosen else None, name == chosen))
        if p is None or q is None:
            found.tally.lacks("a" if p is None else "b")
            found.alone.append(f"metric `{name}` only in {'b' if p is None else 'a'}")
        elif is_time(name) and name != chosen:
            found.unjudged.append(name)
        else:
            found.metrics += 1
            found.tally.see_numbers(step, p, q)


def _metric_row(name: str, p: str | None, q: str | None, margin: float | None, chosen: bool) -> MetricRow:
    x, y = number(p or ""), number(q or "")
    difference = "" if x is None or y is None else to_text(y - x)
    return MetricRow(name=name, a=p or "", b=q or "", difference=difference, margin=margin, declared=chosen)


def _rows(found: Results, a: list[Json], b: list[Json], step: int) -> None:
    if not a and not b:
        return
    if not a or not b:
        found.tally.lacks("a" if not a else "b")
        found.alone.append(f"evaluation rows only in {'b' if not a else 'a'}")
        return
    x, y = _by_id(a), _by_id(b)
    for side, only in (("a", x.keys() - y.keys()), ("b", y.keys() - x.keys())):
        if only:
            found.tally.lacks("b" if side == "a" else "a")
            found.alone.append(f"{len(only)} examples only in {side}, such as `{min(map(str, only))}`")
    common = [(x[key], y[key]) for key in x if key in y]
    for p, q in common:
        shared = (p.keys() & q.keys()) - {"id"}
        found.rows += 1
        found.tally.see(step, all(same_value(p[k], q[k]) for k in shared), count=len(shared))
    found.flips = _flips(common)


def _by_id(rows: list[Json]) -> dict[Any, Json]:
    """Rows by their `id`, or by their place when they have none or share one."""
    ids = [str(row.get("id")) for row in rows]
    if len(set(ids)) < len(rows) or "None" in ids:
        return dict(enumerate(rows))
    return dict(zip(ids, rows, strict=True))


def _flips(common: list[tuple[Json, Json]]) -> dict[str, int]:
    """Disagreements, and of the examples with `correct` on both sides those that only one side got right."""
    graded = [(p["correct"], q["correct"]) for p, q in common if "correct" in p and "correct" in q]
    return {
        "examples": len(common),
        "disagreements": sum(1 for p, q in common if _disagree(p, q)),
        "only_a_correct": sum(1 for p, q in graded if p and not q),
        "only_b_correct": sum(1 for p, q in graded if q and not p),
    }


def _disagree(p: Json, q: Json) -> bool:
    told_by = "prediction" if "prediction" in p and "prediction" in q else "correct"
    return not same_value(p.get(told_by), q.get(told_by))
