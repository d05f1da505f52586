"""Where the hooks find the recorder of their process."""

import os
import sys


class Seat:
    """Where hooks find the recorder: a forked process finds none, until it trains by itself."""

    def __init__(self, make):
        self.make = make
        self.recorder = self.make()
        at_fork = getattr(os, "register_at_fork", None)
        if at_fork is not None:
            at_fork(after_in_child=self._forked)

    def _forked(self):
        """In a child: what the parent has noted is not its own."""
        self.recorder.hot.calm()

    def compiling(self):
        """Whether torch.compile is tracing the caller, which must then see no hook of ours."""
        return self.recorder.compiling()

    def present(self):
        """The recorder, or None when recording is off in this process."""
        recorder = self.recorder
        return recorder if recorder.alive and recorder.pid == os.getpid() else None

    def for_step(self):
        """The recorder of a process that takes an optimizer step, a new one after a fork."""
        if self.recorder.pid != os.getpid():
            before, self.recorder = self.recorder, self.make()
            # The wrappers know the parent's.
            before.hot.calm()
            self.recorder.hot, self.recorder.outside = before.hot, before.outside
            _end_with_process(self)
        return self.present()


def compiling_test(torch):
    """A function that is True while torch.compile traces its caller; False for ever where there is none."""
    for owner in (getattr(torch, "compiler", None), sys.modules.get("torch._dynamo")):
        if hasattr(owner, "is_compiling"):
            return owner.is_compiling
    return lambda: False


def capturing_test(torch):
    """A function that tells whether a CUDA graph is being recorded, into which nothing of ours must get."""
    initialized = getattr(torch.cuda, "is_initialized", None)
    recording = getattr(torch.cuda, "is_current_stream_capturing", None)
    built = torch.version.cuda or getattr(torch.version, "hip", None)
    if not built or initialized is None or recording is None:
        return lambda: False
    return lambda: initialized() and recording()


def _end_with_process(seat):
    # Processes forked by multiprocessing leave without atexit; this is the way they tidy up.
    from multiprocessing import util

    util.Finalize(None, lambda: seat.present() and seat.recorder.close("ok"), exitpriority=100)
