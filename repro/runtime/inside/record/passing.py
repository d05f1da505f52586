"""Steps that pass with little told of them: the way of nearly all steps of a long run on a CPU.

Between two steps that are looked at, only losses, learning rates and times are noted, in one small
object, and turned into records some dozen at a time. What a step of ours costs there is mostly the
fetching of our own code into the processor's caches, so the code on this way is kept to a minimum.
"""

import os

from ..bits.ring import SIZE
from ..hooks.loss import NONFINITE, added_up

PLAIN = '{"k":"s","step":%d,"opt":%d,"loss":"%s","nb":%d,"dt":"%s"}'
UNUSUAL = NONFINITE + (None,)

# A forked process must not go on with its parent's notes; without this call (Python 3.6) none are taken.
possible = hasattr(os, "register_at_fork")
# Tells objects apart as `id` does; that one raises an audit event, for which each listener is called.
key = object.__hash__


class Hot:
    """All that hooks look at in a step of which little is told, in one place.

    Attributes:
        inside: a model is being called. stepping: a step is being taken. taken: steps so far.
        quiet: outputs of models called with gradients are not looked at.
        passing: where steps are noted, None while they are told of in full.
    """

    __slots__ = ("inside", "passing", "quiet", "stepping", "taken")

    def __init__(self):
        self.taken = 0
        self.calm()

    def calm(self):
        """Nothing is going on, as in a process that has just been forked."""
        self.inside = self.stepping = self.quiet = False
        self.passing = None


class Passing:
    """Steps noted by the hooks, but not yet written down; made where such steps begin.

    Attributes:
        counts: parameters by the `key` of each optimizer whose steps may be noted.
        losses: of the step under way. rows: see `records`. most: so many rows are written down at once.
        states: of the optimizers that have stepped, by `key`. spent: seconds that noting took.
    """

    __slots__ = ("counts", "losses", "most", "rows", "since", "spent", "states", "stream")

    def __init__(self, segment, stream, until):
        self.counts = {one: segment.layout.counts[number] for one, number in segment.numbers.items()}
        self.stream = stream
        self.losses, self.rows, self.states = [], [], {}
        self.most = min(SIZE, until)
        self.since = segment.stepped
        self.spent = 0.0


def records(passing, segment):
    """The `s` records of noted steps, as text where they are of the plainest; counts them in the segment."""
    for one, state in passing.states.items():
        segment.layout.states[segment.numbers[one]] = state
    for one, losses, rates, index, now in passing.rows:
        number = segment.numbers[one]
        segment.steps += 1
        segment.seconds, segment.stepped = now - segment.stepped, now
        loss = added_up(losses)
        record = {"k": "s", "step": segment.steps, "opt": number, "loss": loss, "nb": len(losses)}
        segment.tell_rates(number, rates, record)
        if index is None and loss not in UNUSUAL and "lr" not in record:
            yield PLAIN % (segment.steps, number, loss, len(losses), segment.seconds.hex())
            continue
        if index is not None:
            record["idx"] = index
        record["dt"] = segment.seconds.hex()
        yield record
