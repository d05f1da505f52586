"""Final values of the declared metrics over two groups of runs, and which runs belong together by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from repro.compare.chance.statistics import finite_set_floor, mean
from repro.compare.gate.declared import Declared, seed_of
from repro.compare.side import Side
from repro.compare.signals.tally import is_finite, number

Group = Sequence[Side]


@dataclass(frozen=True)
class Sample:
    """One metric: a value a run.

    Attributes:
        pairs: places in a and in b that have the same seed; empty unless every run of the smaller side
            has its partner.
        margin: declared beforehand, None when there is none.
        resolution: step between values that the metric can take, 0 when it has none or it is not known.
        floor: standard deviation from the finite evaluation set alone, None when it is not known.
    """

    metric: str
    a: list[float]
    b: list[float]
    pairs: Sequence[tuple[int, int]] = ()
    margin: float | None = None
    resolution: float = 0.0
    floor: float | None = None


def sample(metric: str, declared: Declared, a: Group, b: Group) -> Sample | None:
    """The sample of a metric; None where a run did not record it as a finite number."""
    found = [[final(side, metric) for side in group] for group in (a, b)]
    values = [[value for value in group if value is not None] for group in found]
    if not values[0] or not values[1] or [len(v) for v in values] != [len(a), len(b)]:
        return None
    resolution, floor = _finite_set(metric, [*a, *b])
    x, y = values
    return Sample(metric, x, y, seed_pairs(a, b), declared.margins.get(metric), resolution, floor)


def final(side: Side, metric: str) -> float | None:
    """The final value of a metric, None where it is missing or not finite."""
    text = side.run.metrics.values.get(metric, "") if side.run.metrics else ""
    return number(text) if text and is_finite(text) else None


def seed_pairs(a: Group, b: Group) -> list[tuple[int, int]]:
    """Places of runs with the same seed, in order of a.

    Empty where a seed is not known or stands twice on a side, or where a run of the smaller side has no
    partner: dropping such runs would lose more than pairing gives.
    """
    x, y = [_key(side) for side in a], [_key(side) for side in b]
    if None in (*x, *y) or len(set(x)) < len(x) or len(set(y)) < len(y):
        return []
    pairs = [(i, y.index(key)) for i, key in enumerate(x) if key in y]
    apart = any(_other_start(a[i], b[j]) for i, j in pairs)
    return pairs if len(pairs) == min(len(x), len(y)) and not apart else []


def standing(group: Group) -> list[Side]:
    """The runs of a group without those that did not finish and were made again with the same seed."""
    done = {_key(side) for side in group if side.run.complete} - {None}
    return [side for side in group if side.run.complete or _key(side) not in done]


def distinct(group: Group) -> list[Side]:
    """The runs of a group without those that repeat another one: same seed, every number equal in every bit.

    Such a run is the same draw once more, and counting it would make the spread look known.
    """
    seen: dict[Any, Side] = {}
    for side in group:
        seen.setdefault(_draw(side), side)
    return list(seen.values())


def one_seed(group: Group) -> bool:
    """Whether several runs all have one known seed: their spread is then that of repeats, not of seeds."""
    keys = {_key(side) for side in group}
    return len(group) > 1 and len(keys) == 1 and None not in keys


def broken(side: Side, metrics: Sequence[str]) -> str:
    """What of a run became NaN or infinite: a loss that was stepped on, final weights, a declared metric."""
    for trace in side.traces:
        for segment in trace.segments:
            loss, skipped = segment.steps.column("loss"), segment.steps.column("skipped")
            bad = np.flatnonzero(loss.known & ~np.isfinite(loss.values) & (skipped.values == 0))
            for place in bad[:1]:
                return f"the loss is NaN or infinite at step {int(segment.steps.number[place])}"
        if trace.segments and any(shot.nonfinite for shot in trace.segments[-1].snapshots[-1:]):
            return "a final weight is NaN or infinite"
    values = side.run.metrics.values if side.run.metrics else {}
    return next((f"`{name}` is NaN or infinite" for name in metrics if not is_finite(values.get(name))), "")


def _other_start(a: Side, b: Side) -> bool:
    """Whether two runs are known to have started from different seed checkpoints."""
    x, y = (side.run.attempt.plan.get("seed") for side in (a, b))
    return bool(x and y and x != y)


def _key(side: Side) -> str | None:
    seed = seed_of(side)
    return None if seed is None else f"{type(seed).__name__} {seed}"


def _draw(side: Side) -> Any:
    key = _key(side)
    if key is None or not side.run.metrics:
        return id(side)
    ends = [
        (trace.rank, shot.step, tuple(shot.weights))
        for trace in side.traces
        for segment in trace.segments[-1:]
        for shot in segment.snapshots[-1:]
    ]
    return key, msgspec.json.encode(side.run.metrics.values, order="deterministic"), tuple(ends)


def _finite_set(metric: str, sides: Group) -> tuple[float, float | None]:
    """Resolution and floor of a metric that is the share of right (or wrong) rows, also in per cent."""
    shares = [_share(side) for side in sides]
    finals = [final(side, metric) for side in sides]
    sizes = {size for _, size in shares}
    if len(sizes) != 1 or not (size := sizes.pop()):
        return 0.0, None
    for scale in (1.0, 100.0):
        room = 0.5 * scale / size  # what rounding in the printed number may take
        for turned in (False, True):
            expected = [scale * (1 - share if turned else share) for share, _ in shares]
            if all(v is not None and abs(v - x) <= room for v, x in zip(finals, expected, strict=True)):
                return scale / size, scale * finite_set_floor(mean([share for share, _ in shares]), size)
    return 0.0, None


def _share(side: Side) -> tuple[float, int]:
    """Share of evaluation rows that are right, and their number; 0 rows where not all are graded."""
    graded = [bool(row["correct"]) for row in side.run.rows if "correct" in row]
    if not graded or len(graded) != len(side.run.rows):
        return 0.0, 0
    return sum(graded) / len(graded), len(graded)
