"""The loss: the value on which `backward` is called, as it was before any gradient scaling."""

import functools
import time
import weakref

from ...hexfloat import hexfloat
from ..bits.ring import value

NONFINITE = ("nan", "inf", "-inf")


def added_up(numbers):
    """Sum of numbers as text, None without any; the order in which they are added is part of it."""
    if not numbers or not all(isinstance(n, (float, int)) for n in numbers):
        return None
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
        if not self.scaled:
            self.values.append([self._value(t) for t in tensors])
            return
        self.values.append([self._unscaled(t) for t in tensors])
        self.scaled = [(ref, v) for ref, v in self.scaled if ref() is not None]

    def take(self):
        """Loss (None where a value is not one number) and number of backward calls; starts afresh."""
        calls, self.values = self.values, []
        numbers = [v for values in calls for v in values]
        if not numbers or any(n is None for n in numbers):
            return None, len(calls)
        return value(numbers, added_up), len(calls)

    def _unscaled(self, tensor):
        known = next((v for ref, v in self.scaled if ref() is tensor), None)
        if known is not None:
            return known
        # Changed after scaling: divide by the factor, a power of two unless the program says otherwise.
        scale = getattr(self.scaler() if self.scaler else None, "_scale", None)
        return None if scale is None else self._value(tensor.detach().double() / scale.double())

    def _value(self, tensor):
        """The number in a tensor of one element: now on a CPU, later on a CUDA device."""
        if tensor.numel() != 1:
            return None
        if tensor.is_cuda:
            return tensor.detach().reshape(()).double().clone()
        return float(tensor.item())

    def first_nonfinite(self, record):
        """An `x` record for each of loss and gradient norm that is NaN or infinite for the first time."""
        for signal in ("loss", "gn"):
            text = record.get(signal)
            if text not in NONFINITE or signal in self.seen_nonfinite:
                continue
            self.seen_nonfinite.add(signal)
            yield {"k": "x", "what": "nonfinite", "step": record["step"], "signal": signal, "value": text}


def install(seat, torch):
    """Patch `torch.autograd.backward`, which `Tensor.backward` calls in every torch."""
    original = torch.autograd.backward
    compiling, hot, clock = seat.recorder.compiling, seat.recorder.hot, time.perf_counter
    nested = []

    @functools.wraps(original)
    def backward(tensors, *args, **kwargs):
        # Checkpointing calls it again from within.
        if compiling() or nested:
            return original(tensors, *args, **kwargs)
        passing = hot.passing
        if passing is not None:
            # Written out here, not called: see hooks/optimizer.py.
            start = clock()
            try:
                passing.losses.append(tensors.item())
                passing.spent += clock() - start
            except Exception:
                passing = None
        if passing is None:
            seat.recorder.backward(tensors)
        nested.append(True)
        try:
            return original(tensors, *args, **kwargs)
        except RuntimeError as problem:
            if "out of memory" in str(problem):
                seat.recorder.event("oom", {"where": "backward"})
            raise
        finally:
            nested.pop()

    torch.autograd.backward = backward
