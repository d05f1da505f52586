"""Which of the signals that differ at one step tells where the runs part.

In causal order it is the first one, with three exceptions, where that one differs by the way of recording:
the inputs of a model that the program computes itself, a batch that one run took and did not train on, and
what is made in other micro-batches, or is a sum over micro-batches in one run and their average in the other.
"""

from collections.abc import Collection, Mapping

import numpy as np

from repro.compare.lines.pair import Pair
from repro.compare.signals.tally import Tally, number, sizes_between
from repro.model.trace import Step
from repro.model.verdict import First

# Relative, of losses: sums in another order move them by 1e-7 to 1e-5 [measured: divergence.md 2.7].
ROUNDING = 2e-5
_RATIO = 1e-3
_SEVERAL = 2
_CUT = ("forward", "loss")
_AFTER = ("forward", "loss", "gradient", "update", "weights", "rng")
_AGAIN = 3  # so many equal batches after one that differs show one stream


def told(first: First | None, pairs: Collection[Pair], tallies: Mapping[str, Tally]) -> First | None:
    """The difference that a reader should be shown first, at the same step as the given one."""
    if first is None:
        return None
    rows = [
        pair.at(first.step) for pair in pairs if first.step in pair.a.steps and first.step in pair.b.steps
    ]
    if first.signal == "samples" and rows and all(_computed(*row) for row in rows):
        return First(signal="forward", step=first.step)
    if first.signal == "samples" and all(_looked_at(pair, first.step) for pair in pairs):
        later = (name for name in _AFTER if tallies[name].first == first.step)
        return First(signal=next(later, "samples"), step=first.step)
    cut = any(x.nb != y.nb for x, y in rows) and not any(_mixes(pair) for pair in pairs)
    if first.signal in _CUT and (cut or (rows and all(summed(*row) for row in rows))):
        later = (name for name in ("gradient", "update", "weights") if tallies[name].first == first.step)
        return First(signal=next(later, first.signal), step=first.step)
    return first


def _computed(x: Step, y: Step) -> bool:
    """Whether these are inputs that no DataLoader handed out, and apart by no more than rounding."""
    if x.idx is not None or y.idx is not None or x.loss is None or y.loss is None:
        return False
    relative = sizes_between(x.loss, y.loss)[1]
    return relative is not None and relative <= ROUNDING


def summed(x: Step, y: Step) -> bool:
    """Whether one run adds up the losses of as many micro-batches as the other one averages."""
    if x.nb != y.nb or x.nb < _SEVERAL or None in (x.loss, y.loss, x.gn, y.gn):
        return False
    sizes = [[number(text or "") or 0.0 for text in pair] for pair in ((x.loss, y.loss), (x.gn, y.gn))]
    if not all(low > 0 for low, _ in map(sorted, sizes)):
        return False
    ratios = [q / p for p, q in sizes]
    return any(all(abs(ratio / times - 1) <= _RATIO for ratio in ratios) for times in (x.nb, 1 / x.nb))


def _mixes(pair: Pair) -> bool:
    """Whether the samples of a micro-batch change each other's outputs, as in batch norm."""
    return any("BatchNorm" in str(row.get("class")) for row in pair.a.start.get("modules", []))


def _looked_at(pair: Pair, step: int) -> bool:
    """Whether a loader gave one run more at this step, while all that both trained on afterwards is equal.

    Sample numbers are a running hash: an order that changed would change the batches after it too.
    """
    x, y = pair.column("idx")
    at = int(np.searchsorted(pair.steps, step))
    if at >= len(pair.steps) or (x.known[at] == y.known[at] and x.bits[at] == y.bits[at]):
        return False
    p, q = pair.column("batch")
    both = (p.known & q.known)[at + 1 :]
    return int(np.count_nonzero(both)) >= _AGAIN and bool(np.all((p.bits == q.bits)[at + 1 :][both]))
