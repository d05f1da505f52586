"""When the whole state is fingerprinted, and what the recorder costs.

Snapshots at steps 0 to 10 (there a difference is told from noise best), at powers of two (the same in
runs of any length and setting) and at every N-th step. When the recorder takes more than its budget,
N doubles, so that the steps of a thinned trace are among those of a full one.
"""

import time

from ..hexfloat import hexfloat

ALWAYS_UP_TO = 10
BUDGET = 0.05
# A window opens after the dense first steps and holds at least one regular snapshot.
FIRST_WINDOW = 16


class Share:
    """Seconds spent by the recorder, by method, since the program imported torch."""

    def __init__(self):
        self.began = time.perf_counter()
        self.total = 0.0
        self.kinds = {}

    def spent(self, kind, seconds):
        """Add to a kind; `snapshot` and `batch` are parts of other kinds and do not count twice."""
        self.kinds[kind] = self.kinds.get(kind, 0.0) + seconds
        if kind not in ("snapshot", "batch"):
            self.total += seconds

    def text(self):
        """The recorder's part of the time since it started, as float.hex()."""
        return hexfloat(self.total / max(time.perf_counter() - self.began, 1e-9))


class Window:
    """What was spent since a step."""

    def __init__(self, share, step):
        self.share, self.step = share, step
        self.began = time.perf_counter()
        self.total, self.kinds = share.total, dict(share.kinds)

    def part(self, kind=None):
        """The part of the time since the window opened that went to `kind`, or to everything."""
        spent = self.share.total - self.total
        if kind:
            spent = self.share.kinds.get(kind, 0.0) - self.kinds.get(kind, 0.0)
        return spent / max(time.perf_counter() - self.began, 1e-9)


class Schedule:
    """Which steps get a snapshot."""

    def __init__(self, every):
        self.every = every
        self.window = None

    def due(self, step):
        """Whether the state after this step is fingerprinted."""
        return step <= ALWAYS_UP_TO or step & (step - 1) == 0 or step % self.every == 0

    def thin(self, share, step):
        """Fields of a `thinned` event when the recorder has just become sparser, else None."""
        if self.window is None or step < self.window.step:
            self.window = Window(share, step) if step >= FIRST_WINDOW else None
            return None
        if step % self.every or step - self.window.step < self.every // 2:
            return None
        window, self.window = self.window, Window(share, step)
        part = window.part()
        if part <= BUDGET:
            return None
        if window.part("snapshot") > part / 2:
            self.every *= 2
            return {"every": self.every, "share": hexfloat(part)}
        if window.part("batch") > part / 2:
            return {"batch": "sampled", "share": hexfloat(part)}
        return None
