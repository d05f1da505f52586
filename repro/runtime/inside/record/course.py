"""What happens after a step: what is looked at, what is written down, and how the next one is met."""

import time

from ..hooks.loss import added_up
from ..hooks.scaler import found_infinities
from .journal import Journal
from .passing import Passing, possible, records
from .schedule import COLD, LOOK


class Course(Journal):
    """Goes along with the steps."""

    def told(self, optimizer):
        """Write down a step with all that is looked at after it."""
        segment = self.segment
        skipped = found_infinities(self.scaler, optimizer) if self.scaler is not None else None
        record = segment.step(optimizer, self.loss, skipped)
        index = self.stream.index()
        if index is not None:
            record["idx"] = index
        if self.looks:
            self.look(record, optimizer)
        else:
            self.stream.forget()
        self.ring.add(record)
        due = self.schedule.due(segment.steps)
        if due:
            self.snapshot(fresh=True)
        self.notice(due)
        self.forward.settle()

    def look(self, record, optimizer):
        """Put into a step's record what is not taken at every step."""
        start = time.perf_counter()
        record["gn"] = self.segment.gradient_norm(optimizer)
        record.update(self.stream.take())
        record["rng"] = self.random.digests(self.segment.layout.device)
        self.schedule.looked += 1
        self.share.spent(LOOK, time.perf_counter() - start)

    def go_on(self):
        """Settle what is looked at in the step to come, and whether it will only be noted."""
        segment = self.segment
        coming = segment.steps + 1
        if coming >= self.eventful:
            self.hot.quiet = not self.schedule.looks(coming)
            self.stream.full = self.schedule.due(coming)
            self.eventful = self.schedule.next_event(coming)
        if self.ring.keep_fresh(segment.stepped):
            self.trace.flush()
        on_host = segment.layout.device.type == "cpu" and self.loss.scaler is None
        if coming < self.eventful and on_host and possible and self.plan.nothing:
            self.hot.passing = Passing(segment, self.stream, self.eventful - coming)

    def leave_passing(self):
        """Write down the steps that were only noted."""
        passing, self.hot.passing = self.hot.passing, None
        for record in records(passing, self.segment):
            self.ring.add(record)
        if passing.rows:
            last = {"step": self.segment.steps, "loss": added_up(passing.rows[-1][1])}
            self.progress.show(dict(last, dt=self.segment.seconds.hex()))
        self.loss.values += [[number] for number in passing.losses]
        self.stream.forget()
        self.share.total += passing.spent + len(passing.rows) * COLD

    def notice(self, due):
        """Device memory that has grown, and whether we take too much of the program's time."""
        segment = self.segment
        grown = self.memory.grown(segment.layout.device, segment.steps, due)
        if grown:
            self.ring.add(grown)
        thinned = self.schedule.thin(segment.steps)
        if thinned:
            record = {"k": "x", "what": "thinned", "step": segment.steps}
            record.update(thinned)
            self.ring.add(record)
