"""The step hook: every optimizer class is wrapped when its first instance is made.

This way works from torch 1.4 on and counts real steps only: schedulers wrap the instance's method,
accelerate wraps the object, and both end in the class's `step`.
"""

import functools
import time

from ..bits.ring import FRESH_SECONDS
from ..record.passing import key

MARK = "_repro_wrapped"


def install(seat, base):
    """Patch `Optimizer.__init__`."""
    original = base.__init__

    @functools.wraps(original)
    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        recorder = seat.present()
        if recorder is not None:
            wrap_class(seat, type(self))
            recorder.optimizer_made(self)

    base.__init__ = init


def wrap_class(seat, kind):
    """Wrap every `step` that the class or a parent of it defines, once."""
    for owner in kind.__mro__:
        step = owner.__dict__.get("step")
        if callable(step) and owner.__module__ != "builtins" and not getattr(step, MARK, False):
            owner.step = _wrapped(seat, step)


def _wrapped(seat, original):
    """The step that a class defines, with ours around it.

    All that a noted step takes is written out here instead of called: what it costs is the fetching of
    our code into caches that the program has filled, and each function more is fetched too.
    """
    compiling, hot = seat.recorder.compiling, seat.recorder.hot
    clock = time.perf_counter

    @functools.wraps(original)
    def step(self, *args, **kwargs):
        if compiling() or hot.stepping:
            return original(self, *args, **kwargs)
        passing = hot.passing
        try:
            missing = passing.counts[key(self)]
            for group in self.param_groups:
                missing -= len(group["params"])
        except Exception:
            missing = None
        if missing != 0:
            return _told(seat, original, self, args, kwargs)
        hot.stepping = True
        try:
            result = original(self, *args, **kwargs)
        finally:
            hot.stepping = False
        now = clock()
        hot.taken += 1
        if hot.passing is not passing:
            seat.recorder.after_step(self)
            return result
        try:
            rates, stream, rows = [], passing.stream, passing.rows
            for group in self.param_groups:
                rates.append(group.get("lr"))  # noqa: PERF401 (a function more, before Python 3.12)
            passing.states[key(self)] = self.state
            index = stream.hash.copy().hexdigest() if stream.hashed else None
            rows.append((key(self), passing.losses, rates, index, now))
            passing.losses = []
            if len(rows) >= passing.most or now - passing.since >= FRESH_SECONDS:
                seat.recorder.passed()
        except Exception as problem:
            seat.recorder.give_up("step", problem)
        passing.spent += clock() - now
        return result

    setattr(step, MARK, True)
    return step


def _told(seat, original, optimizer, args, kwargs):
    """A step that the recorder is told of in full."""
    recorder = seat.for_step()
    if recorder is None or recorder.capturing():
        return original(optimizer, *args, **kwargs)
    if not recorder.ready(optimizer):
        recorder.before_step(optimizer)
    hot = recorder.hot
    hot.stepping = True
    try:
        result = original(optimizer, *args, **kwargs)
    finally:
        hot.stepping = False
    hot.taken += 1
    recorder.after_step(optimizer)
    return result
