"""The result in the end: final metrics beside the declared margin, and evaluation rows example by example."""

import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from importlib.resources import files

from repro.compare.equal import same_value
from repro.compare.gate.declared import declared
from repro.compare.side import Side
from repro.compare.signals.flips import by_id, flips
from repro.compare.signals.tally import Tally, number
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
    found.flips = flips(a, b)
    return found


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
    margins = declared(a, b).margins
    order = [*(name for name in margins if name in {*x, *y}), *sorted({*x, *y} - margins.keys())]
    for name in order:
        p, q = x.get(name), y.get(name)
        found.table.append(_metric_row(name, p, q, margins.get(name), name in margins))
        if p is None or q is None:
            found.tally.lacks("a" if p is None else "b")
            found.alone.append(f"metric `{name}` only in {'b' if p is None else 'a'}")
        elif is_time(name) and name not in margins:
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
    x, y = by_id(a), by_id(b)
    for side, only in (("a", x.keys() - y.keys()), ("b", y.keys() - x.keys())):
        if only:
            found.tally.lacks("b" if side == "a" else "a")
            found.alone.append(f"{len(only)} examples only in {side}, such as `{min(map(str, only))}`")
    common = [(x[key], y[key]) for key in x if key in y]
    for p, q in common:
        shared = (p.keys() & q.keys()) - {"id"}
        found.rows += 1
        found.tally.see(step, all(same_value(p[k], q[k]) for k in shared), count=len(shared))
