"""The step hook: every optimizer class is wrapped when its first instance is made.

This way works from torch 1.4 on and counts real steps only: schedulers wrap the instance's method,
accelerate wraps the object, and both end in the class's `step`.
"""

import functools

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
    compiling = seat.recorder.compiling

    @functools.wraps(original)
    def step(self, *args, **kwargs):
        if compiling():
            return original(self, *args, **kwargs)
        recorder = seat.recorder
        passing = recorder.passing
        if passing is None or not passing.covers(self):
            recorder = seat.for_step()
            if recorder is None or recorder.stepping or recorder.capturing():
                return original(self, *args, **kwargs)
            passing = None
            if not recorder.ready(self):
                recorder.before_step(self)
        elif recorder.stepping:
            return original(self, *args, **kwargs)
        recorder.stepping = True
        try:
            result = original(self, *args, **kwargs)
        finally:
            recorder.stepping = False
        recorder.taken += 1
        if passing is not None and recorder.passing is passing:
            passing.took(recorder, self)
        else:
            recorder.after_step(self)
        return result

    setattr(step, MARK, True)
    return step
