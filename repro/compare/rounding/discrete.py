"""Differences that rounding cannot make: other samples or settings, another mode, NaN on one side."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from repro.compare.lines.pair import Pair
from repro.compare.rounding.unit import limit
from repro.compare.signals import generators
from repro.compare.signals.walk import rates, shapes
from repro.model.columns import Array


@dataclass(frozen=True)
class Discrete:
    """One such difference; the sentence has no step in it."""

    signal: str
    step: int
    said: str

    def __str__(self) -> str:
        return f"at step {self.step} {self.said}"


def differences(pairs: Iterable[Pair], last: int) -> list[Discrete]:
    """The first of each kind in each process, up to step `last`; earliest first."""
    found = [one for pair in pairs for walk in _WALKS for one in walk(pair) if one.step <= last]
    return sorted(found, key=lambda one: one.step)


def drawn_otherwise(pairs: Iterable[Pair]) -> int | None:
    """First step at which the state of a random generator differs; what was drawn may be without effect."""
    steps = [step for pair in pairs if (step := generators.walk(pair).first) is not None]
    return min(steps, default=None)


def renumbered(pairs: Iterable[Pair]) -> int | None:
    """First step at which sample numbers differ, where every batch that could be compared is equal."""
    found = [pair.steps[_other_samples(pair)][:1] for pair in pairs]
    return min((int(step) for steps in found for step in steps), default=None)


def _shapes(pair: Pair) -> Iterator[Discrete]:
    if shapes(pair.a) != shapes(pair.b):
        yield Discrete("init", 0, "the weights have other shapes or types")


def _samples(pair: Pair) -> Iterator[Discrete]:
    """Other sample numbers, unless batches are seen to be equal: samples can bear other numbers."""
    x, y = pair.column("batch")
    equal = x.known & y.known & (x.bits == y.bits)
    for step in pair.steps[_other_samples(pair) & ~equal][:1]:
        yield Discrete("samples", int(step), "other samples were taken")


def _other_samples(pair: Pair) -> Array:
    x, y = pair.column("idx")
    differ: Array = x.known & y.known & (x.bits != y.bits)
    return differ


def _rates(pair: Pair) -> Iterator[Discrete]:
    found = rates(pair)
    if found.first is not None and (found.relative is None or found.relative > limit("rate")):
        size = "" if found.relative is None else f", by {found.relative:.1e} of it at most"
        yield Discrete("update", found.first, f"the learning rates differ{size}")


def _steps(pair: Pair) -> Iterator[Discrete]:
    for name, said in (
        ("opt", "another optimizer stepped"),
        ("skipped", "one run left the step out"),
    ):
        x, y = pair.column(name)
        for step in pair.steps[x.values != y.values][:1]:
            yield Discrete("update", int(step), said)


def _broken(pair: Pair) -> Iterator[Discrete]:
    for name, signal in (("loss", "loss"), ("gn", "gradient")):
        x, y = pair.column(name)
        one_side = x.known & y.known & (np.isfinite(x.values) != np.isfinite(y.values))
        for step in pair.steps[one_side][:1]:
            yield Discrete(signal, int(step), f"the {signal} is NaN or infinite in one run only")
    for step in pair.snapshots:
        s, t = pair.shots(step)
        if bool(s.nonfinite) != bool(t.nonfinite):
            yield Discrete("weights", step, "a weight is NaN or infinite in one run only")
            return


_WALKS = (_shapes, _samples, _rates, _steps, _broken)
