"""The recorder of one process: what the hooks tell it, and what it writes of that.

Two rules hold everywhere. The program must not notice: no random number is drawn, no device is
waited for in a step, no tensor is changed or kept alive longer than its optimizer. And no failure
of ours may reach it: the first one is written down, and recording stops.
"""

import functools
import os
import sys
import time
import weakref

from ..place.seeding import untouched
from .course import Course
from .schedule import LOOK, UNTIMED


def watched(method, quiet=False):
    """A method of the recorder that costs nothing when recording is off, is timed, and never raises.

    Steps that were only noted are written down before it, so that records keep their order; not if `quiet`.
    """
    clock, process = time.perf_counter, os.getpid

    @functools.wraps(method)
    def inner(self, *args):
        if self.busy or not self.alive or self.pid != process() or self.capturing():
            return None
        start = clock()
        self.busy = True
        grad = self.grad_enabled()
        self.enable_grad(False)
        try:
            if self.hot.passing is not None and not quiet:
                self.leave_passing()
            return method(self, *args)
        except Exception as problem:
            self.give_up(method.__name__, problem)
            return None
        finally:
            self.enable_grad(grad)
            self.busy = False
            self.share.total += clock() - start + UNTIMED

    return inner


def looking(method):
    """A watched method whose whole time is that of looking at this step's tensors, when it is looked at."""
    inner = watched(method)

    @functools.wraps(method)
    def timed(self, *args):
        before = self.share.total
        try:
            return inner(self, *args)
        finally:
            self.share.kinds[LOOK] += self.share.total - before

    return timed


quietly = functools.partial(watched, quiet=True)


class Recorder(Course):
    """What hooks report, each when it happens."""

    @watched
    def optimizer_made(self, optimizer):
        """A new optimizer: from its first step on there will be something to record."""
        self.made.append(weakref.ref(optimizer))
        # Its first step is looked at, whatever the step of another one is.
        self.hot.quiet, self.eventful = False, 0
        self.forward.arm()
        self.plan.optimizer_made()
        if self.seeding is None:
            self.seeding = untouched(self.torch)

    @looking
    def model_called(self, module, args, kwargs, with_grad):
        """A module was called from outside of any other; what to tell of its result, None for nothing."""
        self.plan.before_forward(module)
        if not self.forward.entered(module, with_grad) or self.sight.blocked():
            return None
        if not with_grad:
            return self.evaluated(module, (args, kwargs))
        if not self.looks:
            return None
        self.stream.entered(module, (args, kwargs))
        return self.stream

    @looking
    def model_returned(self, module, taken, result):
        """The call that `model_called` was told of has given back a result."""
        taken.left(module, result)

    @quietly
    def batch(self, source, indices, batch):
        """A DataLoader over `source` handed out a batch while gradients are on."""
        self.stream.handed_out(source, indices, batch, self.looks)

    @watched
    def scaled(self, scaler, outputs, result):
        """A gradient scaler has scaled a loss, or several."""
        pairs = [(outputs, result)] if hasattr(outputs, "detach") else zip(outputs, result)
        for before, after in pairs:
            self.loss.scaling(scaler, before, after)

    @watched
    def backward(self, first):
        """Backward is about to run from a tensor, or from several."""
        self.stream.expect_input = True
        self.loss.backward([first] if hasattr(first, "detach") else first)

    def ready(self, optimizer):
        """Whether there is nothing to do before a step of this optimizer; cheap, since it mostly is so."""
        segment = self.segment
        try:
            return (
                self.evaluation is None
                and self.plan.idle
                and segment is not None
                and segment.covers(optimizer)
            )
        except Exception:
            return False

    @watched
    def before_step(self, optimizer):
        """The state is still what the last step left; the first time, this is step 0."""
        self.tell_evaluation()
        self.plan.before_step(optimizer)
        if self.segment is None or not self.segment.covers(optimizer):
            self.begin(optimizer)

    @watched
    def after_step(self, optimizer):
        """One optimizer step was taken."""
        segment = self.segment
        if segment is None or segment.closed:
            return
        self.told(optimizer)
        self.go_on()
        self.plan.after_step()

    @watched
    def passed(self):
        """Some steps have been noted, and written down before this."""
        self.go_on()

    @watched
    def step_skipped(self):
        """The gradient scaler found infinities and left the weights alone."""
        step = self.segment.steps + 1 if self.segment else 1
        loss, _ = self.loss.take()
        self.stream.forget()
        self.plan.step_skipped()
        self.emit({"k": "x", "what": "scaler-skip", "step": step, "loss": loss})

    @watched
    def optimizer_gone(self, segment):
        """An optimizer of the segment was freed: take the last look at the state, then let it go too."""
        if segment is self.segment and not sys.is_finalizing():
            self.last_look()
            self.ring.drain()

    @watched
    def event(self, what, fields):
        """Something worth a line: out of memory, a file loaded."""
        record = {"k": "x", "what": what, "step": self.steps}
        record.update(fields)
        self.emit(record)

    @watched
    def saved(self, value, path):
        """torch.save has written a file: a checkpoint, and a snapshot of the state beside it."""
        self.checkpoint("save", value, path)
        if self.segment is not None:
            # Saving has waited for the device already: reading here costs nothing more.
            self.snapshot()
            self.ring.drain()
            self.trace.flush(sync=True)

    @watched
    def loaded(self, value, path, described):
        """torch.load has read a file."""
        if self.segment is None:
            # What was loaded replaces what earlier forwards showed.
            self.forward.forget()
        self.plan.loaded()
        self.checkpoint("load", value, path, described)

    @watched
    def finish(self, status):
        """The program is ending."""
        if self.segment is not None:
            self.end_segment(status)
            self.trace.flush(sync=True)

    def close(self, status):
        """End the recording of this process."""
        self.finish(status)
        self.alive = False
