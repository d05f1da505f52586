"""Runs that cut their batches otherwise: what that does to losses and gradients as recorded."""

from dataclasses import dataclass

import numpy as np

from repro.compare.lines.pair import Pair
from repro.model.columns import Array, Column


@dataclass(frozen=True)
class MicroBatches:
    """The first step at which the number of micro-batches differs, and the ratios b / a from there on.

    Attributes:
        step: number of the step. a, b: micro-batches at it.
        loss, gradient: median ratio of the recorded losses (sums over the micro-batches) and gradient
            norms over the steps that differ so; None where it cannot be told. A loss that is a mean over
            the micro-batch and not divided by their number has the ratio b / a, and so has its gradient.
    """

    step: int
    a: int
    b: int
    loss: float | None
    gradient: float | None


def micro_batches(pair: Pair) -> MicroBatches | None:
    """How the numbers of micro-batches differ; None where they are equal at all common steps."""
    x, y = pair.column("nb")
    differ = np.flatnonzero(x.values != y.values)
    if not len(differ):
        return None
    first = differ[0]
    same_cut = (x.values == x.values[first]) & (y.values == y.values[first])
    return MicroBatches(
        step=int(pair.steps[first]),
        a=int(x.values[first]),
        b=int(y.values[first]),
        loss=_ratio(*pair.column("loss"), same_cut),
        gradient=_ratio(*pair.column("gn"), same_cut),
    )


def _ratio(x: Column, y: Column, where: Array) -> float | None:
    with np.errstate(all="ignore"):
        ratios = (y.values / x.values)[where & x.known & y.known]
    ratios = ratios[np.isfinite(ratios)]
    return float(np.median(ratios)) if len(ratios) else None
