"""What a `p` record holds: fingerprints of weights, buffers, optimizer state, gradients; sums of weights."""

import math

from ...hexfloat import hex16, hexfloat
from ..bits.fingerprint import UnreadableError, added
from ..bits.ring import value
from ..bits.sums import total

UNKNOWN = "unknown"
NONE = "none"


class Snapshots:
    """Looks at the tensors of a layout, as they are at the moment."""

    def __init__(self, recorder, layout):
        self.torch = recorder.torch
        self.prints, self.sums = recorder.prints, recorder.sums
        self.layout = layout

    def record(self, step, noted, fresh):
        """The `p` record of the present state.

        At step 0 buffers are taken as they were before the first forward, where `noted` saw them.
        Gradients are read only when `fresh`, just after the step: later they may have been set to zero.
        """
        layout = self.layout
        weights = [t.detach() for t in layout.params]
        buffers = [self._buffer(i, noted if step == 0 else None) for i in range(len(layout.buffers))]
        found = {
            "k": "p",
            "step": step,
            "weights": self._texts([self._print(t, i) for i, t in enumerate(weights)]),
            "buffers": self._texts(buffers),
            "state": self._texts([self._state(i) for i in range(len(weights))]),
        }
        if fresh:
            found["grads"] = self._gradients()
        found.update(self._numbers([t for t in weights if t.is_floating_point()]))
        return found

    def _numbers(self, floats):
        squares, sketch = self.sums.norm2_and_sketch(floats)
        found = {"norm2": value(squares, lambda parts: hexfloat(total(parts)))}
        if sketch is not None:
            known = sketch.tolist() if sketch.device.type == "cpu" else [sketch]
            found["sketch"] = value(known, lambda row: [hexfloat(x) for x in row])
        found["nonfinite"] = self._nonfinite(floats, squares)
        return found

    def _nonfinite(self, floats, squares):
        if all(isinstance(s, float) for s in squares) and math.isfinite(total(squares)):
            return 0
        return value(self.sums.nonfinite(floats), lambda counts: int(sum(counts)))

    def _print(self, tensor, salt):
        try:
            return self.prints.of(tensor, salt)
        except UnreadableError:
            return None

    def _buffer(self, index, noted):
        owner, key = self.layout.buffers[index]
        sums = noted.buffer(owner, key) if noted is not None else None
        if sums is not None:
            return self.prints.finish(sums, index)
        tensor = owner.get(key)
        return None if tensor is None else self._print(tensor, index)

    def _state(self, index):
        """One number for all that the optimizers keep of a parameter: salts count its tensors."""
        mixed = 0
        for salt, kept in enumerate(self.layout.state_values(index)):
            if isinstance(kept, (int, float)):
                kind = self.torch.float64 if isinstance(kept, float) else self.torch.int64
                kept = self.torch.tensor(kept, dtype=kind, device="cpu")
            part = self._print(kept, salt)
            if part is None:
                return None
            mixed = added(mixed, part)
        return mixed

    def _gradients(self):
        grads = [p.grad for p in self.layout.params]
        known = [(i, values_of(g)) for i, g in enumerate(grads) if g is not None]
        texts = self._texts([self._print(g, i) for i, g in known])
        places = [i for i, _ in known]
        if isinstance(texts, list):
            return _placed(len(grads), places, texts)
        form = texts.form
        texts.form = lambda row: _placed(len(grads), places, form(row))
        return texts

    def _texts(self, parts):
        """A list of fingerprints as text, read in one go when they are on a device."""
        on_device = [p for p in parts if hasattr(p, "reshape")]
        if not on_device:
            return [UNKNOWN if p is None else hex16(p) for p in parts]
        return value(
            [-1 if p is None else p for p in parts],
            lambda row: [UNKNOWN if p is None else hex16(n) for p, n in zip(parts, row)],
        )


def values_of(gradient):
    """The gradient itself, of a sparse one its values."""
    return gradient.coalesce()._values() if gradient.is_sparse else gradient


def _placed(count, places, texts):
    """Texts at their places in a row of `none`."""
    row = [NONE] * count
    for place, text in zip(places, texts):
        row[place] = text
    return row
