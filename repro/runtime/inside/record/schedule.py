"""When the whole state is fingerprinted, what else is looked at in a step, and what the recorder may cost.

Snapshots at steps 0 to 10 (there a difference is told from noise best), at powers of two (the same in
runs of any length and setting) and at every N-th step; gradient norm, generators, batch and outputs at
each of the first 16 steps, at multiples of a stride, and beside every snapshot. When the recorder takes
more than its budget, N and the stride double: the steps of a thinned trace are among those of a full one.
"""

import math
import time

from ...hexfloat import hexfloat

ALWAYS_UP_TO = 10
# All is looked at until then; the costs seen by then decide what follows.
FIRST_STEPS = 16
EVERY = 64
MOST = 1 << 20
# Seconds that a step may cost: a part of the bare step; for short ones a fixed time, up to another part.
PART, FLOOR, SHORT_PART = 0.008, 40e-6, 0.02
# A debt from the first steps is paid back within so many steps, or as many as were taken.
HORIZON = 1000
# What no clock of ours sees: the calls of a wrapper and of the clock, and caches that are cold afterwards.
UNTIMED = 1e-6
# The same of a whole step that is only noted, as measured where the program's tensors fill the caches.
COLD = 20e-6
LOOK, SNAPSHOT = "look", "snapshot"


class Share:
    """Seconds spent by the recorder since the program imported torch; `kinds` are parts of the total."""

    def __init__(self):
        self.began = time.perf_counter()
        self.total = 0.0
        self.kinds = {LOOK: 0.0, SNAPSHOT: 0.0}

    def spent(self, kind, seconds):
        """Say that so much of the total went to a kind of work."""
        self.kinds[kind] = self.kinds.get(kind, 0.0) + seconds

    def text(self):
        """The recorder's part of the time since it started, as float.hex()."""
        return hexfloat(self.total / max(time.perf_counter() - self.began, 1e-9))


class _Since:
    """What was spent since the start of a training."""

    def __init__(self, share):
        self.share = share
        self.began, self.total, self.kinds = time.perf_counter(), share.total, dict(share.kinds)

    def seconds(self):
        return time.perf_counter() - self.began

    def spent(self):
        return self.share.total - self.total

    def kind(self, name):
        return self.share.kinds[name] - self.kinds[name]


class Schedule:
    """Which steps get a snapshot, and which are looked at; `promised`: N was asked for, and stays."""

    def __init__(self, every, share):
        self.promised = bool(every)
        self.share = share
        self.begin(every or EVERY)

    def begin(self, every=None):
        """A training begins: all is as at first."""
        self.every = self.least = every or self.least
        self.stride = 1
        self.next_check = FIRST_STEPS
        self.looked = self.shots = 0
        self.evaluated = self.evaluations = 0
        self.started = 0.0  # seconds that the first step took for what is done only once
        self.since = _Since(self.share)

    def due(self, step):
        """Whether the state after this step is fingerprinted."""
        return step <= ALWAYS_UP_TO or step & (step - 1) == 0 or step % self.every == 0

    def looks(self, step):
        """Whether gradient norm, generators, batch and outputs of this step are looked at."""
        return step <= FIRST_STEPS or not step % self.stride or self.due(step)

    def next_event(self, step):
        """The first step from this one on that is looked at, gets a snapshot, or is followed by a check."""
        if step <= FIRST_STEPS:
            return step
        nexts = [-(-step // n) * n for n in (self.stride, self.every)]
        return min(nexts + [1 << (step - 1).bit_length(), self.next_check])

    def evaluation(self, step):
        """Whether an evaluation after this step is looked at: the first ones, then at most every stride."""
        self.evaluations += 1
        few = self.evaluations <= FIRST_STEPS  # a short run has one or two, which say most of what it came to
        full = few or self.looks(step) or step - self.evaluated >= self.stride
        if full:
            self.evaluated = step
        return full

    def thin(self, step):
        """Fields of a `thinned` event when the recorder has just become sparser or denser, else None."""
        if step < self.next_check:
            return None
        self.next_check = step * 2 if step < HORIZON else step + HORIZON
        spare, look, shot = self._costs(step)
        sparse, dense = self._fitting(spare, look, shot), self._fitting(0.7 * spare, look, shot)
        stride, every = self.stride, self.every
        if sparse[0] > stride or sparse[1] > every:
            self.stride, self.every = max(stride, sparse[0]), max(every, sparse[1])
        elif dense[0] < stride or dense[1] < every:
            self.stride, self.every = min(stride, dense[0]), min(every, dense[1])
        changed = [("stride", stride, self.stride), ("every", every, self.every)]
        told = {name: now for name, before, now in changed if now != before}
        if told:
            told["share"] = hexfloat(self.since.spent() / max(self.since.seconds(), 1e-9))
        return told or None

    def _costs(self, step):
        """Seconds a step that may go to looks and snapshots; seconds of one look, of one snapshot."""
        since = self.since
        spent, looks, shots = since.spent(), since.kind(LOOK), since.kind(SNAPSHOT)
        bare = max(since.seconds() - spent, 1e-9) / step
        allowed = max(PART * bare, min(FLOOR, SHORT_PART * bare))
        horizon = max(step, HORIZON)
        # The first snapshot is part of what starting took.
        least = max(spent - looks - shots - self.started, 0.0) / step
        look, shot = looks / max(self.looked, 1), shots / max(self.shots, 1)
        owed = spent - allowed * step + shot * math.log(1.0 + horizon / step, 2)
        return allowed - least - owed / horizon, look, shot

    def _fitting(self, spare, look, shot):
        """The smallest stride and N with which both stay within the spare seconds a step."""
        stride, every = 1, self.least
        while look / stride + shot / every > spare and (stride < MOST or every < MOST):
            if (look / stride > shot / every or self.promised or every >= MOST) and stride < MOST:
                stride *= 2
            elif not self.promised:
                every *= 2
            else:
                break
        return stride, every
