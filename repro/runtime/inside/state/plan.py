"""What was asked of this run beside its recording: where it starts, what it keeps, where it ends.

The supervisor says so in REPRO_RUNTIME_PLAN. It holds for the first training of the run: the first
process of each rank that trains takes it, and in that process its first segment. The state is put in
place at one moment, the same in every run of a program: before the first call of a module from outside
once the last optimizer has been made and the last file loaded, and before any step.
"""

import json
import os
import time

from ..dense.step import Recording
from ..hooks.ending import leave
from ..record.layout import Layout
from ..record.tracefile import rank_and_world
from . import saved as state
from .start import NO_CALL, Start, has_gradients
from .tensorfile import TensorFileError

VARIABLE = "REPRO_RUNTIME_PLAN"
# Nothing to train yet; the next call is the moment; the state is in place; steps are taken; nothing more.
WAITING, ARMED, PLACED, TRAINING, OVER = "waiting", "armed", "placed", "training", "over"


class NoPlan:
    """An ordinary run: nothing is done, and nothing is paid for."""

    idle = nothing = True

    def _nothing(self, *_told):
        """Nothing."""

    optimizer_made = loaded = before_forward = before_step = after_step = step_skipped = gave_up = _nothing


def from_environment(journal):
    """The plan of this process; NoPlan without the variable."""
    text = os.environ.get(VARIABLE)
    return Plan(journal, json.loads(text)) if text else NoPlan()


def state_name(step):
    """Name of the file of a state: `step-8.safetensors`, of another rank `step-8.rank-1.safetensors`."""
    rank, _ = rank_and_world()
    return "step-%d%s.safetensors" % (step, ".rank-%d" % rank if rank else "")


class Plan:
    """Told by the recorder what happens, does what was asked for at that point."""

    def __init__(self, journal, wanted):
        self.journal = journal
        self.saves = set(wanted.get("save") or ())
        self.stop = wanted.get("stop") or 0
        self.dense = set(wanted.get("dense") or ())
        self.sync = wanted.get("sync") or ""
        self.last = max(self.saves | self.dense | {0})
        self.start = Start(self, wanted)
        self.stage = WAITING
        self.claimed = None
        self.segment = None
        self.steps = 0
        self.recording = None

    @property
    def nothing(self):
        """Whether nothing more will be done, so that steps may be recorded the cheap way."""
        done = self.stage == TRAINING and not self.stop and self.steps >= self.last
        return self.stage == OVER or done

    @property
    def idle(self):
        """Whether `before_step` has nothing to do any more."""
        return self.stage not in (WAITING, ARMED, PLACED)

    def optimizer_made(self):
        """What there is to train has grown: the moment is still to come."""
        if self.stage in (WAITING, PLACED):
            self.stage = ARMED

    def loaded(self):
        """The program has read a file: before there are gradients its content may replace the weights."""
        if self.stage == PLACED and not self.start.has_gradients():
            self.stage = ARMED

    def before_forward(self, module):
        """A module is about to be called from outside."""
        ready = self.stage == ARMED and self.start.asked and not self.journal.sight.blocked()
        if ready and next(iter(module.parameters()), None) is not None:
            self._guarded(self._place, None)

    def before_step(self, optimizer):
        """A step is about to be taken; the first time, the training has begun."""
        if self.stage in (WAITING, ARMED, PLACED) and self._claim():
            self._guarded(self._begin, optimizer)

    def after_step(self):
        """A step has been recorded."""
        if self.stage == TRAINING:
            self._guarded(self._stepped)

    def step_skipped(self):
        """The gradient scaler left a step out: what was seen of it does not count."""
        if self.recording is not None:
            self.recording.restart()

    def gave_up(self, reason):
        """Recording has failed: a run that was asked for its record only is worth nothing more."""
        if self.stage != OVER and (self.partial or (self.start.seed and self.stage != TRAINING)):
            self.refuse("recording stopped: %s" % reason)

    @property
    def partial(self):
        """Whether the run is made for its first or its single steps, and is no whole run."""
        return bool(self.stop or self.dense or self.start.member is not None)

    def _place(self, optimizer):
        layout = self._layout(optimizer)
        if layout.params and self._claim():
            self.stage = PLACED if self.start.place(layout) else OVER

    def _begin(self, optimizer):
        layout = self._layout(optimizer)
        if self.start.asked and not self.start.covers(layout):
            if not has_gradients(layout.params):
                # The step computes its own gradients, in a closure: nothing has been called for nothing.
                self._place(optimizer)
            elif self.start.changes:
                self.refuse(NO_CALL)
            else:
                self.start.too_late(layout)
        if self.stage != OVER:
            self.start.tell(layout)
            self.stage = TRAINING

    def _stepped(self):
        journal = self.journal
        self.segment = self.segment or journal.segment
        self.steps += 1
        if journal.segment is self.segment:
            self._at(journal.segment.steps, journal.segment.layout)
        elif self.recording is not None:
            self.recording.abandon()
            self.recording = None
        if self.stop and self.steps >= self.stop:
            self._limit()

    def _at(self, step, layout):
        if self.recording is not None:
            recording, self.recording = self.recording, None
            recording.close(layout)
        if step in self.saves:
            self.save(step, layout)
        if step + 1 in self.dense and step != self.stop:
            self.open(step + 1, layout)

    def open(self, step, layout):
        """Record the coming step densely, from the stored state where there is one."""
        if self.sync:
            path = os.path.join(self.sync, state_name(step - 1))
            kept = state.State(self.journal.torch, path)
            kept.check(layout)
            changed, missing = kept.put_all(layout)
            self.event("state-loaded", file=os.path.basename(path), changed=len(changed), missing=missing)
        if self.recording is not None:
            self.recording.abandon()
        self.recording = Recording(self.journal, step, layout)

    def save(self, step, layout):
        """Keep the present state. The training is worth more than its state: a failure is written down."""
        name = state_name(step)
        folder = os.path.join(self.journal.attempt, "states")
        try:
            os.makedirs(folder, exist_ok=True)
            state.save(self.journal, layout, os.path.join(folder, name), step)
            self.event("state-saved", file="states/" + name)
        except (OSError, TensorFileError) as problem:
            self.event("state-saved", file=None, reason=str(problem))

    def _limit(self):
        journal = self.journal
        self.stage = OVER
        self.event("limit")
        journal.end_segment("limited")
        journal.trace.flush(sync=True)
        leave(journal.attempt, "limited", "ended after step %d, as asked" % self.steps, 0)

    def refuse(self, reason):
        """End the program, before it computes something other than was asked for."""
        self.stage = OVER
        if self.journal.trace is not None:
            self.journal.drain_in_peace()
            self.journal.trace.flush(sync=True)
        leave(self.journal.attempt, "refused", reason, 3)

    def event(self, what, **fields):
        """Write an `x` record."""
        self.journal.emit(dict({"k": "x", "what": what, "step": self.journal.steps}, **fields))

    def _layout(self, optimizer):
        """The layout of all optimizers that were made and are alive, as the segment will have it."""
        alive = [o for o in (ref() for ref in self.journal.made) if o is not None]
        if optimizer is not None and not any(o is optimizer for o in alive):
            alive.append(optimizer)
        return Layout(self.journal.torch, alive)

    def _claim(self):
        """Whether the plan is this process's: the first one of its rank that gets here has it."""
        if self.claimed is None:
            path = os.path.join(self.journal.attempt, "cache", "plan-%d" % rank_and_world()[0])
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
                self.claimed = True
            except FileExistsError:
                self.claimed, self.stage = False, OVER
                self.start.not_applied("another training of this run started from it")
        return self.claimed

    def _guarded(self, method, *args):
        share, start = self.journal.share, time.perf_counter()
        try:
            method(*args)
        except (state.UnfitError, TensorFileError) as problem:
            self.refuse(str(problem))
        finally:
            # What was asked for is not the price of recording, for which the recorder thins itself.
            share.total -= time.perf_counter() - start
