"""What the recorder knows and how it is written: state, segments, snapshots, order of records."""

import os
import sys
import time

from ..bits.fingerprint import Fingerprints
from ..bits.randomness import RandomStates
from ..bits.ring import Ring
from ..bits.sight import Sight
from ..bits.sums import Sums
from ..hooks import checkpoints
from ..hooks.forward import ForwardWatch
from ..hooks.loss import LossMeter
from ..hooks.seat import capturing_test, compiling_test
from ..hooks.stream import SampleStream
from ..place.conditions import write_conditions
from ..place.loaders import Loaders
from ..place.memory import DeviceMemory
from ..state.plan import from_environment
from .evaluation import Evaluation
from .passing import Hot
from .progress import Progress
from .schedule import SNAPSHOT, Schedule, Share
from .segment import Segment
from .tracefile import TraceFile, rank_and_world


class Journal:
    """One process's record. Made when torch has been imported; writes from the first step on."""

    def __init__(self, torch, attempt, every):
        self.torch = torch
        self.attempt = attempt
        self.pid = os.getpid()
        self.alive = True
        self.busy = False
        self.compiling, self.capturing = compiling_test(torch), capturing_test(torch)
        self.grad_enabled = torch.is_grad_enabled
        # As a function it sets the mode for good, in every torch.
        self.enable_grad = getattr(torch._C, "_set_grad_enabled", torch.set_grad_enabled)
        self.hot = Hot()
        self.loading = False
        self.scaler = None
        self.share = Share()
        self.schedule = Schedule(every, self.share)
        self.trace = None
        self.early = []
        self.segment = None
        self.made = []
        self.prints = Fingerprints(torch)
        self.random = RandomStates(torch)
        self.loss = LossMeter(torch)
        self.sight = Sight(torch)
        self.sums = Sums(torch)
        self.stream = SampleStream(self.prints, self.sight)
        self.eventful = 0
        self.evaluation = None
        self.forward = ForwardWatch(self)
        self.memory = DeviceMemory(torch)
        self.ring = Ring(torch, self.written)
        self.progress = None
        self.loaders = Loaders()
        self.outside = None
        self.seeding = None
        self.plan = from_environment(self)

    @property
    def looks(self):
        """Whether the tensors of the step to come are looked at."""
        return not self.hot.quiet

    @property
    def steps(self):
        """Steps of the present segment."""
        return self.segment.steps if self.segment else 0

    def emit(self, record):
        """Hand a record on; what comes before the first `start` waits for it."""
        if self.trace is None or self.segment is None:
            self.early.append(record)
        else:
            self.ring.add(record)

    def written(self, record):
        """A record whose numbers are known goes to the file, and what it shows is noticed."""
        self.trace.write(record)
        if type(record) is dict and record["k"] == "s":
            for what in self.loss.first_nonfinite(record):
                self.trace.write(what)
            self.progress.show(record)

    def checkpoint(self, op, value, path, described=True):
        """Write down a file that was saved or loaded, in the trace and for the supervisor."""
        record = dict(checkpoints.row(self.torch, op, path, value, described), k="c", step=self.steps)
        checkpoints.note(self.attempt, record)
        if record["path"].startswith(self.attempt + os.sep):
            record["path"] = os.path.relpath(record["path"], self.attempt)
        self.emit(record)

    def evaluated(self, module, given):
        """The record of the calls without gradients since the last step, told of one more."""
        if self.evaluation is None:
            full = self.schedule.evaluation(self.steps)
            self.evaluation = Evaluation(self, self.steps, full)
        self.evaluation.entered(module, given)
        return self.evaluation if self.evaluation.full else None

    def tell_evaluation(self):
        """Write down the calls without gradients, of which there are no more before the next step."""
        evaluation, self.evaluation = self.evaluation, None
        if evaluation is not None:
            self.emit(evaluation.record())

    def snapshot(self, fresh=False):
        """Fingerprint the state, unless this step has been; `fresh`: just after its step."""
        start = time.perf_counter()
        record = self.segment.snapshot(self.forward, fresh)
        if record is not None:
            self.ring.add(record)
            self.schedule.shots += 1
            self.share.spent(SNAPSHOT, time.perf_counter() - start)

    def begin(self, optimizer):
        """Start a segment, with all optimizers made so far; this one is about to take its first step."""
        if self.segment is not None:
            self.end_segment("ok")
        self.schedule.begin()
        self.eventful = 0
        start = time.perf_counter()
        rank, world = rank_and_world()
        if self.trace is None:
            self.trace = TraceFile(self.attempt, rank)
            self.progress = Progress(self.attempt if self.trace.first_of_rank and rank == 0 else None)
        alive = [o for o in (ref() for ref in self.made) if o is not None]
        optimizers = alive if any(o is optimizer for o in alive) else alive + [optimizer]
        self.made = []
        # Weights and optimizer state are looked at now, just before the first step: nothing has
        # changed them since the last backward, and whatever loaded, drew or moved them has been.
        self.segment = Segment(self, optimizers)
        self.trace.write(self.segment.start_record(rank, world))
        early, self.early = self.early, []
        for record in early:
            self.ring.add(record)
        self.snapshot()
        self.forward.forget()
        if rank == 0:
            write_conditions(self, world)
        if self.outside is not None:
            self.outside.rest()
        self.trace.flush()
        self.schedule.started = time.perf_counter() - start

    def end_segment(self, status):
        """Look a last time, and write the `end` record."""
        self.tell_evaluation()
        self.last_look()
        self.ring.drain()
        share = self.share.text()
        self.trace.write({"k": "end", "steps": self.segment.steps, "share": share, "status": status})

    def last_look(self):
        """A snapshot, after which the state may be freed."""
        self.snapshot()
        self.segment.release()

    def drain_in_peace(self):
        """Write what waits, if it can be: something has gone wrong already."""
        try:
            if self.hot.passing is not None:
                self.leave_passing()
            self.ring.drain()
        except Exception:
            self.ring.waiting = []

    def give_up(self, where, problem):
        """Write down a failure of ours, once, and record nothing more."""
        self.alive = False
        reason = "%s in %s: %s" % (type(problem).__name__, where, str(problem)[:500])
        try:
            sys.stderr.write("repro: recording stopped, the program goes on: %s\n" % reason)
            if self.trace is not None:
                self.drain_in_peace()
                self.trace.write({"k": "x", "what": "recorder-stopped", "step": self.steps, "reason": reason})
                self.trace.flush(sync=True)
        except Exception:
            pass
        self.hot.passing = None
        self.plan.gave_up(reason)
