"""An answer without noise members: whether runs part, and go on, by sizes that rounding makes.

The limits, with their sources and measurements, stand in `data/rounding.toml`. The answer is weaker than
that of members, which carry how much this very training amplifies rounding.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np

from repro.compare.lines.pair import Pair
from repro.compare.rounding.answer import BEYOND, UNTESTED, WITHIN, Answer
from repro.compare.rounding.unit import Unit, limit
from repro.compare.signals.walk import distance

LAST = 16
BETTER = (
    "noise members would tell better: `repro run BUNDLE --make-reference` makes them, as does "
    "`repro record ... --perturb 1`, then 2 and 3"
)
_BY = "by the a-priori bound of rounding, no noise members were there"
_FEW = 2


@dataclass(frozen=True)
class Size:
    """A relative difference beside what rounding explains at that place.

    Attributes:
        share: for weights, the difference as a part of all that training has moved them by.
    """

    signal: str
    step: int
    value: float
    explained: float
    share: float | None = None

    @property
    def times(self) -> float:
        """The difference in units of what rounding explains."""
        return inf if isinf(self.value) else self.value / self.explained

    def __str__(self) -> str:
        apart = f"{self.signal} at step {self.step}: {self.value:.1e} apart"
        return f"{apart}, {self.times:.2g} times what rounding explains"


def sizes(pairs: Iterable[Pair], start: int, unit: Unit) -> list[Size]:
    """Relative differences of losses, gradient norms and weights from the first step that differs to step 16.

    Where the runs part later, to the 16th step from there. What is not finite is left out.
    """
    window = range(start, max(LAST, start + LAST - 1) + 1)
    found: list[Size] = []
    for pair in pairs:
        found += _losses(pair, window, unit)
        found += _gradients(pair, window, unit)
        found += _weights(pair, window, unit)
    return sorted(found, key=lambda size: size.step)


def by_bound(found: Sequence[Size], start: int, unit: Unit, enough: bool) -> Answer:
    """The answer that sizes give; `enough` is whether they reach to step 16 or to the end of whole runs."""
    if beyond := parted_beyond(found, start):
        return _answer(
            BEYOND, f"{beyond} in {unit.name}; above {limit('beyond'):g} is no other algorithm either"
        )
    if not any(size.signal == "weights" for size in found):
        said = "no distance of the weights could be told from what both runs recorded"
        return Answer(UNTESTED, "none", (said, BETTER))
    worst = max(found, key=lambda size: size.times)
    if later := _stays_beyond(found):
        return _answer(BEYOND, f"{later[0]} in {unit.name}, and so at {len(later)} sampled steps in all")
    if worst.times > 1:
        said = f"{worst} in {unit.name}: more than it makes, too little to be sure"
        return replace(_answer(UNTESTED, said), near=enough)
    if not enough:
        last = max(size.step for size in found)
        return _answer(UNTESTED, f"all of rounding's size so far, but there are only {last} of {LAST} steps")
    return _answer(WITHIN, f"every size is one that rounding makes, the largest {worst} in {unit.name}")


def _answer(word: str, said: str) -> Answer:
    return Answer(word, "bound", (f"{_BY}: {said}", BETTER))


def parted_beyond(found: Sequence[Size], start: int) -> Size | None:
    """The largest of the sizes at the very step where the runs part, if it is beyond rounding."""
    here = [size for size in found if size.step == start and size.times > limit("beyond")]
    return max(here, key=lambda size: size.times, default=None)


def far_for_weights(pairs: Iterable[Pair], step: int, unit: Unit) -> float:
    """Distance at a step above which runs that parted at the start are apart by more than rounding."""
    moved = [
        distance(pair.a.snapshots[pair.a.begins], pair.a.snapshots[step]) or 0.0
        for pair in pairs
        if pair.a.begins in pair.a.snapshots and step in pair.a.snapshots
    ]
    return limit("beyond") * unit.weights(max(moved, default=0.0), step + 1)


def _stays_beyond(found: Sequence[Size]) -> list[Size]:
    """Weights that are beyond, by a good part of all they moved, at two sampled steps or more.

    One branch that falls the other way after rounding makes a jump too, and moves less.
    """
    far = [s for s in found if s.share is not None and s.share > limit("share") and s.times > limit("beyond")]
    return far if len(far) >= _FEW else []


def _losses(pair: Pair, window: range, unit: Unit) -> Iterator[Size]:
    for step, x, y, relative in _numbers(pair, "loss", window):
        yield Size("loss", step, relative, unit.loss(max(abs(x), abs(y)), step - window.start + 1))


def _gradients(pair: Pair, window: range, unit: Unit) -> Iterator[Size]:
    for step, _x, _y, relative in _numbers(pair, "gn", window):
        yield Size("gradient", step, relative, unit.step * (step - window.start + 1))


def _numbers(pair: Pair, name: str, window: range) -> Iterator[tuple[int, float, float, float]]:
    x, y = pair.column(name)
    low, high = np.searchsorted(pair.steps, (window.start, window.stop))
    for place in range(int(low), int(high)):
        p, q = float(x.values[place]), float(y.values[place])
        if x.known[place] and y.known[place] and np.isfinite(p) and np.isfinite(q):
            larger = max(abs(p), abs(q))
            yield int(pair.steps[place]), p, q, abs(p - q) / larger if larger else 0.0


def _weights(pair: Pair, window: range, unit: Unit) -> Iterator[Size]:
    first = min(pair.snapshots, default=0)
    base = max((step for step in pair.snapshots if step < window.start), default=first)
    after = [step for step in pair.snapshots if step >= window.start]
    for step in [step for step in after if step in window] or after[:1]:
        size = distance(*pair.shots(step))
        if size is not None:
            moved = distance(pair.a.snapshots[base], pair.a.snapshots[step]) or 0.0
            share = size / moved if moved else None
            yield Size("weights", step, size, unit.weights(moved, step - window.start + 1), share)
