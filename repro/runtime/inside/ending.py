"""The end of the process: whether an exception ended it, and the last words of the trace."""

import atexit
import sys


def watch_end(seat):
    """Be told of an uncaught exception and of the exit; both still happen as they would have."""
    state = {"status": "ok"}
    before = sys.excepthook

    def hook(kind, problem, trace):
        state["status"] = "stopped" if issubclass(kind, KeyboardInterrupt) else "failed"
        recorder = seat.present()
        if recorder is not None and "out of memory" in str(problem):
            recorder.event("oom", {"where": "program"})
        before(kind, problem, trace)

    def leave():
        recorder = seat.present()
        if recorder is not None:
            recorder.close(state["status"])

    sys.excepthook = hook
    atexit.register(leave)
