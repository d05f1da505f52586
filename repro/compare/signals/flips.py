"""Per-example answers of trained models: how many differ, beside how many differ anyway.

From evaluation rows; without a file of them from what the recorder saw at the last evaluation
(`Evaluation`), where nothing says which answer is right but each has a margin.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from repro.compare.chance.statistics import ALPHA, holm, sign_test
from repro.compare.equal import same_value
from repro.compare.side import Side
from repro.compare.signals.tally import number
from repro.model.record import Json
from repro.model.trace import Evaluation

# A flip is close when both margins are below this part of the median margin.
_CLOSE = 0.1


def flips(a: Side, b: Side) -> dict[str, int] | None:
    """Counts over the examples that both have; None where neither rows nor predictions are.

    `examples`, `disagreements`; with graded rows `only_a_correct` and `only_b_correct`, the discordant counts
    of McNemar's test; from predictions `close`, the flips whose margins are small on both sides.
    """
    if a.run.rows and b.run.rows:
        return of_rows(common_rows(a.run.rows, b.run.rows))
    x, y = _last_evaluation(a), _last_evaluation(b)
    if x is None or y is None or len(x.prediction) != len(y.prediction):
        return None
    return _of_predictions(x, y)


def noise(name: str, sides: Sequence[Side]) -> dict[str, list[int]]:
    """Flips between runs that differ in nothing under study, [lowest, highest] over their pairs.

    Disagreements under `name` (`seeds`, `members`), and under `NAME_discordant` the examples that only one of
    two runs got right, where rows are graded; empty with fewer than two runs that have answers.
    """
    found = [counts for a, b in combinations(sides, 2) if (counts := flips(a, b))]
    graded = [one for one in found if "only_a_correct" in one]
    seen = {
        name: [one["disagreements"] for one in found],
        f"{name}_discordant": [one["only_a_correct"] + one["only_b_correct"] for one in graded],
    }
    return {key: [min(values), max(values)] for key, values in seen.items() if values}


def mcnemar(pairs: Iterable[tuple[str, Side, Side]]) -> list[tuple[str, int, int, float]]:
    """For each seed its discordant counts and McNemar's exact p, Holm-corrected over the seeds.

    Empty for fewer than two seeds: the test compares two trained models, and one seed says nothing about
    what was changed between them.
    """
    found = [
        (seed, counts["only_a_correct"], counts["only_b_correct"])
        for seed, a, b in pairs
        if (counts := flips(a, b)) and "only_a_correct" in counts
    ]
    if len(found) < 2:
        return []
    corrected = holm([sign_test(b, c) for _, b, c in found])
    return [(*row, p if p is not None else 1.0) for row, p in zip(found, corrected, strict=True)]


def mcnemar_said(tested: Sequence[tuple[str, int, int, float]]) -> list[str]:
    """The tests as sentences; none without tests."""
    if not tested:
        return []
    seed, b, c, p = min(tested, key=lambda row: row[3])
    word = "differ beyond chance in some seeds" if p <= ALPHA else "no seed stands out"
    counts = [right_in_a + right_in_b for _, right_in_a, right_in_b, _ in tested]
    least = f"smallest p {p:.2g} (seed {seed}: {b} right only in a, {c} only in b)"
    return [
        f"single answers: {min(counts)} to {max(counts)} are right in only one of the two runs of a seed",
        f"single answers: {word}; McNemar's exact test a seed, Holm over {len(tested)} seeds: {least}",
    ]


def common_rows(a: Sequence[Json], b: Sequence[Json]) -> list[tuple[Json, Json]]:
    """Rows of the examples that both sides have."""
    x, y = by_id(a), by_id(b)
    return [(x[key], y[key]) for key in x if key in y]


def by_id(rows: Sequence[Json]) -> dict[Any, Json]:
    """Rows by their `id`, or by their place when they have none or share one."""
    ids = [str(row.get("id")) for row in rows]
    if len(set(ids)) < len(rows) or "None" in ids:
        return dict(enumerate(rows))
    return dict(zip(ids, rows, strict=True))


def of_rows(common: Sequence[tuple[Json, Json]]) -> dict[str, int]:
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


def _last_evaluation(side: Side) -> Evaluation | None:
    """The last evaluation with predictions of the only process; of several each saw only a part."""
    if len(side.traces) != 1:
        return None
    seen = [e for segment in side.traces[0].segments for e in segment.evaluations if e.prediction]
    return seen[-1] if seen else None


def _of_predictions(a: Evaluation, b: Evaluation) -> dict[str, int]:
    flipped = np.asarray(a.prediction) != np.asarray(b.prediction)
    found = {"examples": len(flipped), "disagreements": int(flipped.sum())}
    if len(a.margin) == len(b.margin) == len(flipped):
        x, y = _floats(a.margin), _floats(b.margin)
        usual = float(np.nanmedian(x)) if np.isfinite(x).any() else 0.0
        found["close"] = int((flipped & (np.maximum(x, y) < _CLOSE * usual)).sum())
    return found


def _floats(texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([value if (value := number(text)) is not None else np.nan for text in texts])
