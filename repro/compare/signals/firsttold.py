"""Which of the signals that differ at one step tells where the runs part.

In causal order it is the first one, with two exceptions, where that one differs by the way of recording:
the inputs of a model that the program computes itself, and what is made in other micro-batches.
"""

from collections.abc import Iterable, Mapping

from repro.compare.lines.pair import Pair
from repro.compare.signals.tally import Tally, sizes_between
from repro.model.trace import Step
from repro.model.verdict import First

# Relative, of losses: sums in another order move them by 1e-7 to 1e-5 [measured: divergence.md 2.7].
ROUNDING = 2e-5
_CUT = ("forward", "loss")


def told(first: First | None, pairs: Iterable[Pair], tallies: Mapping[str, Tally]) -> First | None:
    """The difference that a reader should be shown first, at the same step as the given one."""
    if first is None:
        return None
    rows = [
        pair.at(first.step) for pair in pairs if first.step in pair.a.steps and first.step in pair.b.steps
    ]
    if first.signal == "samples" and rows and all(_computed(*row) for row in rows):
        return First(signal="forward", step=first.step)
    if first.signal in _CUT and any(x.nb != y.nb for x, y in rows):
        later = (name for name in ("gradient", "update", "weights") if tallies[name].first == first.step)
        return First(signal=next(later, first.signal), step=first.step)
    return first


def _computed(x: Step, y: Step) -> bool:
    """Whether these are inputs that no DataLoader handed out, and apart by no more than rounding."""
    if x.idx is not None or y.idx is not None or x.loss is None or y.loss is None:
        return False
    relative = sizes_between(x.loss, y.loss)[1]
    return relative is not None and relative <= ROUNDING
