"""The loss: the value on which `backward` is called, as it was before any gradient scaling."""

import functools
import math
import weakref

from ..hexfloat import hexfloat, unhex
from .ring import value


def _sum(numbers):
    """Added one after another, so that the order is part of the definition."""
    total = 0.0
    for number in numbers:
        total += number
    return hexfloat(total)


class LossMeter:
    """Losses since the last step."""

    def __init__(self, torch):
        self.torch = torch
        self.values = []
        self.scaled = []
        self.scaler = None
        self.seen_nonfinite = set()

    def scaling(self, scaler, before, after):
        """A gradient scaler turned the loss `before` into `after`."""
        self.scaler = weakref.ref(scaler)
        self.scaled.append((weakref.ref(after), self._value(before)))

    def backward(self, tensors):
        """Backward is about to run from these tensors."""
        values = [self._unscaled(t) for t in tensors]
        self.values.append(values)
        self.scaled = [(ref, v) for ref, v in self.scaled if ref() is not None]

    def take(self):
        """Loss (None where a value is not one number) and number of backward calls; starts afresh."""
        calls, self.values = self.values, []
        numbers = [v for values in calls for v in values]
        if not numbers or any(n is None for n in numbers):
            return None, len(calls)
        return value(numbers, _sum), len(calls)

    def _unscaled(self, tensor):
        known = next((v for ref, v in self.scaled if ref() is tensor), None)
        if known is not None or not self.scaled:
            return self._value(tensor) if known is None else known
        # Changed after scaling: divide by the factor, a power of two unless the program says otherwise.
        scale = getattr(self.scaler() if self.scaler else None, "_scale", None)
        return None if scale is None else self._value(tensor.detach().double() / scale.double())

    def _value(self, tensor):
        """The number in a tensor of one element: now on a CPU, later on a CUDA device."""
        tensor = tensor.detach()
        if tensor.numel() != 1:
            return None
        if tensor.device.type == "cuda":
            return tensor.reshape(()).double().clone()
        return float(tensor.item())

    def first_nonfinite(self, record):
        """An `x` record for each of loss and gradient norm that is NaN or infinite for the first time."""
        for signal in ("loss", "gn"):
            text = record.get(signal)
            if text is None or signal in self.seen_nonfinite or math.isfinite(unhex(text)):
                continue
            self.seen_nonfinite.add(signal)
            yield {"k": "x", "what": "nonfinite", "step": record["step"], "signal": signal, "value": text}


def install(seat, torch):
    """Patch the two ways into backward; the first calls the second, which must not count again."""
    nested = []

    def wrap(original, tensors_of):
        @functools.wraps(original)
        def backward(first, *args, **kwargs):
            recorder = seat.present()
            if recorder is None or nested or seat.compiling():
                return original(first, *args, **kwargs)
            recorder.backward(tensors_of(first))
            nested.append(True)
            try:
                return original(first, *args, **kwargs)
            except RuntimeError as problem:
                if "out of memory" in str(problem):
                    recorder.event("oom", {"where": "backward"})
                raise
            finally:
                nested.pop()

        return backward

    torch.Tensor.backward = wrap(torch.Tensor.backward, lambda tensor: [tensor])
    torch.autograd.backward = wrap(
        torch.autograd.backward, lambda t: [t] if hasattr(t, "detach") else list(t)
    )
