"""What the recorder knows and how it is written: state, segments, snapshots, order of records."""

import os
import sys
import time

from . import checkpoints
from .conditions import write_conditions
from .fingerprint import Fingerprints
from .forward import ForwardWatch
from .loss import LossMeter
from .memory import DeviceMemory
from .progress import Progress
from .randomness import RandomStates
from .ring import Ring
from .schedule import Schedule, Share
from .seat import compiling_test
from .segment import Segment
from .stream import SampleStream
from .tracefile import TraceFile, rank_and_world


class Journal:
    """One process's record. Made when torch has been imported; writes from the first step on."""

    def __init__(self, torch, attempt, every):
        self.torch = torch
        self.attempt = attempt
        self.pid = os.getpid()
        self.alive = True
        self.busy = False
        self.compiling = compiling_test(torch)
        self.stepping = self.loading = False
        self.taken = 0
        self.scaler = None
        self.share = Share()
        self.schedule = Schedule(every)
        self.trace = None
        self.early = []
        self.segment = None
        self.made = []
        self.prints = Fingerprints(torch)
        self.random = RandomStates(torch)
        self.loss = LossMeter(torch)
        self.stream = SampleStream(self.prints)
        self.forward = ForwardWatch(self)
        self.memory = DeviceMemory(torch)
        self.ring = Ring(torch, self.written)
        self.progress = None

    def capturing(self):
        """Whether the program is recording a CUDA graph, into which nothing of ours must get."""
        cuda = self.torch.cuda
        return (
            getattr(cuda, "is_initialized", bool)() and getattr(cuda, "is_current_stream_capturing", bool)()
        )

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
        if record["k"] == "s":
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

    def snapshot(self):
        """Fingerprint the state, unless this step has been or the state is gone."""
        start = time.perf_counter()
        record = self.segment.snapshot(self.forward)
        if record is not None:
            self.ring.add(record)
        self.share.spent("snapshot", time.perf_counter() - start)

    def notice(self, due):
        """Device memory that has grown, and whether we take too much of the program's time."""
        segment = self.segment
        grown = self.memory.grown(segment.layout.device, segment.steps, due)
        if grown:
            self.ring.add(grown)
        thinned = self.schedule.thin(self.share, segment.steps)
        if thinned:
            self.stream.sampled_only = self.stream.sampled_only or "batch" in thinned
            record = {"k": "x", "what": "thinned", "step": segment.steps}
            record.update(thinned)
            self.ring.add(record)

    def begin(self, optimizer):
        """Start a segment, with all optimizers made so far; this one is about to take its first step."""
        if self.segment is not None:
            self.end_segment("ok")
        rank, world = rank_and_world()
        if self.trace is None:
            self.trace = TraceFile(self.attempt, rank)
            self.progress = Progress(self.attempt if self.trace.first_of_rank and rank == 0 else None)
        alive = [o for o in (ref() for ref in self.made) if o is not None]
        optimizers = alive if any(o is optimizer for o in alive) else alive + [optimizer]
        self.made = []
        # Weights and optimizer state are looked at now, just before the first step: nothing has
        # changed them since the last backward, and whatever loaded, drew or moved them has been.
        self.segment = Segment(self.torch, self.prints, self.random, self.optimizer_gone, optimizers)
        self.trace.write(self.segment.start_record(rank, world))
        early, self.early = self.early, []
        for record in early:
            self.ring.add(record)
        self.snapshot()
        self.forward.forget()
        if rank == 0:
            write_conditions(
                self.torch, self.attempt, self.segment.layout.device, world, self.forward.autocast
            )
        self.trace.flush()

    def end_segment(self, status):
        """Look a last time, and write the `end` record."""
        self.last_look()
        self.ring.drain()
        share = self.share.text()
        self.trace.write({"k": "end", "steps": self.segment.steps, "share": share, "status": status})

    def last_look(self):
        """A snapshot, after which the state may be freed."""
        self.snapshot()
        self.segment.release()

    def give_up(self, where, problem):
        """Write down a failure of ours, once, and record nothing more."""
        self.alive = False
        reason = "%s in %s: %s" % (type(problem).__name__, where, str(problem)[:500])
        try:
            sys.stderr.write("repro: recording stopped, the program goes on: %s\n" % reason)
            if self.trace is not None:
                self.trace.write({"k": "x", "what": "recorder-stopped", "step": self.steps, "reason": reason})
                self.trace.flush(sync=True)
        except Exception:
            pass
