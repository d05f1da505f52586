"""Where the hooks find the recorder of their process."""

import os
import sys


class Seat:
    """Where hooks find the recorder: a forked process finds none, until it trains by itself."""

    def __init__(self, make):
        self.make = make
        self.recorder = self.make()

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
            self.recorder = self.make()
            _end_with_process(self)
        return self.present()


def compiling_test(torch):
    """A function that is True while torch.compile traces its caller; False for ever where there is none."""
    for owner in (getattr(torch, "compiler", None), sys.modules.get("torch._dynamo")):
        if hasattr(owner, "is_compiling"):
            return owner.is_compiling
    return lambda: False


def _end_with_process(seat):
    # Processes forked by multiprocessing leave without atexit; this is the way they tidy up.
    from multiprocessing import util

    util.Finalize(None, lambda: seat.present() and seat.recorder.close("ok"), exitpriority=100)
