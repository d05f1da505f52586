"""GradScaler: the loss before scaling, and steps that it leaves out."""

import functools


def install(seat, scaler_class):
    """Patch the class's own `scale` and `step`; subclasses inherit them."""
    if "scale" in scaler_class.__dict__:
        scaler_class.scale = _scale(seat, scaler_class.scale)
    if "step" in scaler_class.__dict__:
        scaler_class.step = _step(seat, scaler_class.step)


def _scale(seat, original):
    @functools.wraps(original)
    def scale(self, outputs):
        result = original(self, outputs)
        recorder = seat.present()
        if recorder is not None and result is not outputs and not seat.compiling():
            recorder.scaled(self, outputs, result)
        return result

    return scale


def _step(seat, original):
    @functools.wraps(original)
    def step(self, optimizer, *args, **kwargs):
        recorder = seat.present()
        if recorder is None or seat.compiling():
            return original(self, optimizer, *args, **kwargs)
        before = recorder.hot.taken
        in_kernel = getattr(optimizer, "_step_supports_amp_scaling", False)
        recorder.scaler = self if in_kernel else None
        try:
            result = original(self, optimizer, *args, **kwargs)
        finally:
            recorder.scaler = None
        if recorder.hot.taken == before:
            recorder.step_skipped()
        return result

    return step


def found_infinities(scaler, optimizer):
    """Tensors that tell whether a step that decides by itself was left out; None when there are none."""
    states = getattr(scaler, "_per_optimizer_states", None) or {}
    found = states.get(id(optimizer), {}).get("found_inf_per_device") or {}
    return list(found.values()) or None
