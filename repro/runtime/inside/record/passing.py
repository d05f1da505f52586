"""Steps that pass with little told of them: the way of nearly all steps of a long run on a CPU.

Between two steps that are looked at, only losses, learning rates and times are noted, in one small
object, and turned into records some dozen at a time. What a step of ours costs there is mostly the
fetching of our own code into the processor's caches, so the code on this way is kept to a minimum.
"""

import os
import time

from ..bits.ring import FRESH_SECONDS, SIZE
from ..hooks.loss import NONFINITE, added_up

PLAIN = '{"k":"s","step":%d,"opt":%d,"loss":"%s","nb":%d,"dt":"%s"}'
UNUSUAL = NONFINITE + (None,)

_clock = time.perf_counter
# A forked process must not go on with its parent's notes; without this call (Python 3.6) none are taken.
possible = hasattr(os, "register_at_fork")


class Passing:
    """Steps noted, but not yet written down; made where such steps begin."""

    __slots__ = ("counts", "losses", "most", "numbers", "rows", "since", "spent", "states")

    def __init__(self, segment, until):
        self.numbers, self.counts, self.states = segment.numbers, segment.layout.counts, segment.layout.states
        self.losses, self.rows = [], []
        self.most = min(SIZE, until)
        self.since = segment.stepped
        self.spent = 0.0

    def backward(self, tensor):
        """Note the number on which backward is called; False when it is not a single one."""
        start = _clock()
        try:
            self.losses.append(tensor.item())
        except Exception:
            return False
        self.spent += _clock() - start
        return True

    def covers(self, optimizer):
        """Whether a step of this optimizer is one of these."""
        try:
            count = 0
            for group in optimizer.param_groups:
                count += len(group["params"])
            return count == self.counts[self.numbers[id(optimizer)]]
        except Exception:
            return False

    def took(self, recorder, optimizer):
        """Note a step just taken; the recorder is told when enough have come together."""
        now = _clock()
        try:
            rates = [group.get("lr") for group in optimizer.param_groups]
            number = self.numbers[id(optimizer)]
            self.states[number] = optimizer.state
            self.rows.append((number, self.losses, rates, recorder.stream.index(), now))
            self.losses = []
        except Exception as problem:
            recorder.give_up("took", problem)
            return
        if len(self.rows) >= self.most or now - self.since >= FRESH_SECONDS:
            recorder.passed()
        self.spent += _clock() - now


def records(rows, segment):
    """The `s` records of noted steps, as text where they are of the plainest; counts them in the segment."""
    for number, losses, rates, index, now in rows:
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
