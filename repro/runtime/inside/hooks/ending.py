"""The end of the process: whether an exception ended it, the last words of the trace, an early end."""

import atexit
import ctypes
import functools
import os
import sys
import time

from ...farewell import FAREWELL, WAIT_SECONDS
from ...files import write_json
from ..record.tracefile import rank_and_world

_exit_now = os._exit


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
    os._exit = _closing(seat, os._exit)


def _closing(seat, original):
    """`os._exit`, with the record closed before: nothing else is told of such an end."""

    @functools.wraps(original)
    def _exit(*args, **kwargs):
        recorder = seat.present()
        if recorder is not None:
            code = kwargs.get("status", args[0] if args else 0)
            recorder.close("ok" if code == 0 else "failed")
        return original(*args, **kwargs)

    return _exit


def leave(attempt, status, reason, code):
    """End this process now, with its output out and a note for the supervisor; does not come back."""
    rank, world = rank_and_world()
    _flush_output()
    _end_workers()
    note = {"status": status, "reason": reason, "rank": rank, "world": world, "pid": os.getpid()}
    write_json(os.path.join(attempt, "cache", FAREWELL % rank), note)
    if world == 1:
        # The supervisor ends our whole group now: a shell that started us must not go on.
        time.sleep(WAIT_SECONDS)
    _exit_now(code)


def _flush_output():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    try:
        ctypes.CDLL(None).fflush(None)
    except (AttributeError, OSError):
        pass


def _end_workers():
    """Processes that multiprocessing started for us would outlive an exit without farewell."""
    module = sys.modules.get("multiprocessing")
    for process in module.active_children() if module is not None else ():
        process.terminate()
