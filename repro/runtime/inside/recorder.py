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

from .journal import Journal
from .scaler import found_infinities


def watched(method):
    """A method of the recorder that costs nothing when recording is off, is timed, and never raises."""

    @functools.wraps(method)
    def inner(self, *args):
        if not self.alive or self.busy or self.pid != os.getpid() or self.capturing():
            return None
        start = time.perf_counter()
        self.busy = True
        try:
            with self.torch.no_grad():
                return method(self, *args)
        except Exception as problem:
            self.give_up(method.__name__, problem)
            return None
        finally:
            self.busy = False
            self.share.spent(method.__name__, time.perf_counter() - start)

    return inner


class Recorder(Journal):
    """What hooks report, each when it happens."""

    @watched
    def optimizer_made(self, optimizer):
        """A new optimizer: from its first step on there will be something to record."""
        self.made.append(weakref.ref(optimizer))
        self.forward.arm()

    @watched
    def model_called(self, module, args, kwargs, with_grad):
        """A module was called from outside of any other."""
        if self.forward.entered(module, with_grad):
            self.stream.entered(args, kwargs)

    @watched
    def batch(self, indices, batch):
        """A DataLoader handed out a batch while gradients are on."""
        self.stream.handed_out(indices, batch)

    @watched
    def scaled(self, scaler, outputs, result):
        """A gradient scaler has scaled a loss, or several."""
        pairs = [(outputs, result)] if hasattr(outputs, "detach") else zip(outputs, result)
        for before, after in pairs:
            self.loss.scaling(scaler, before, after)

    @watched
    def backward(self, tensors):
        """Backward is about to run."""
        self.stream.expect_input = True
        self.loss.backward(tensors)

    @watched
    def before_step(self, optimizer):
        """The state is still what the last step left; the first time, this is step 0."""
        if self.segment is None or not self.segment.covers(optimizer):
            self.begin(optimizer)

    @watched
    def after_step(self, optimizer):
        """One optimizer step was taken."""
        segment = self.segment
        if segment is None or segment.closed:
            return
        skipped = found_infinities(self.scaler, optimizer) if self.scaler is not None else None
        record = segment.step(optimizer, self.loss, self.stream, skipped)
        self.share.kinds["batch"] = self.stream.seconds
        self.ring.add(record)
        due = self.schedule.due(segment.steps)
        if due:
            self.snapshot()
        self.notice(due)
        self.forward.settle(loader_seen=self.stream.seen)
        self.stream.full = self.schedule.due(segment.steps + 1)
        self.ring.keep_fresh()

    @watched
    def step_skipped(self):
        """The gradient scaler found infinities and left the weights alone."""
        step = self.segment.steps + 1 if self.segment else 1
        loss, _ = self.loss.take()
        self.stream.take_batch()
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
