"""Calls without gradients between two steps: what went in, what came out, each example's answer."""

from ...hexfloat import hexfloat
from ..bits.fingerprint import UnreadableError
from ..bits.ring import value
from ..bits.slots import SMALL, Slots
from ..bits.sums import total

# A record stays below 1 MiB: so many examples have their prediction and margin in it.
MOST_ROWS = 25000
# Outputs that wait are read when so many elements have come together.
ENOUGH = 65536


class Evaluation:
    """One record `e` in the making; `full` says whether its tensors are looked at."""

    def __init__(self, recorder, step, full):
        self.torch, self.sight = recorder.torch, recorder.sight
        self.step = step
        self.full = full
        self.calls = self.rows = self.here = 0
        self.modes = set()
        self.inputs, self.outputs = Slots(recorder.prints), Slots(recorder.prints)
        self.numbers = _Numbers(recorder.sums)
        self.scores = _Scores(self.torch)
        self.looked = []

    def entered(self, module, given):
        """A call with these arguments begins."""
        self.calls += 1
        self.modes.add(self._mode(module))
        tensors = self._tensors(given, self.inputs)
        self.here = next((t.shape[0] for t in tensors if t.dim()), 0)
        self.rows += self.here
        if self.full:
            self.inputs.add(module, tensors)

    def left(self, module, result):
        """The call has given back a result. Small tensors are copied, to be read together."""
        tensors = self._tensors(result, self.outputs)
        kept = [t.detach().clone() if t.numel() <= SMALL else t for t in tensors]
        self.outputs.add(module, kept)
        floats = [t for t in kept if self._has_numbers(t)]
        self.numbers.add(floats)
        self.scores.add(floats, self.here)

    def _tensors(self, value, slots):
        try:
            return self.sight.tensors(value)
        except UnreadableError:
            slots.leave_out()
            return []

    def _has_numbers(self, tensor):
        strided = tensor.layout == self.torch.strided and tensor.device.type != "meta"
        return strided and tensor.is_floating_point()

    def record(self):
        """The `e` record."""
        mode = self.modes.pop() if len(self.modes) == 1 else "mixed"
        found = {"k": "e", "step": self.step, "calls": self.calls, "rows": self.rows, "mode": mode}
        if self.full:
            found.update(inputs=self.inputs.text(), outputs=self.outputs.text())
            found.update(self.numbers.fields())
            found.update(self.scores.fields(self.rows))
        return {k: v for k, v in found.items() if v is not None}

    def _mode(self, module):
        if module.training:
            return "train"
        # Looking through all modules once is enough to find a part that was left behind.
        if not any(ref is module for ref in self.looked):
            self.looked.append(module)
            if any(part.training for part in module.modules()):
                return "train"
        return "eval"


class _Numbers:
    """Squared norm and sketch over floating-point outputs, one after another."""

    def __init__(self, sums):
        self.sums = sums
        self.waiting, self.count = [], 0
        self.offset = 0
        self.squares, self.sketches = [], []
        self.readable = True

    def add(self, tensors):
        for tensor in tensors:
            small = tensor.numel() <= SMALL
            self.waiting.append(tensor)
            self.count += tensor.numel()
            if not small or self.count >= ENOUGH:
                self._read()

    def _read(self):
        tensors, self.waiting, self.count = self.waiting, [], 0
        try:
            sketch = self.sums.sketch(tensors, self.offset)
        except UnreadableError:
            sketch = None
        self.offset += sum(t.numel() for t in tensors)
        if sketch is None:
            self.readable = False
            return
        self.squares += self.sums.norm2(tensors)
        self.sketches.append(sketch)

    def fields(self):
        if self.waiting:
            self._read()
        if not self.readable or not self.sketches:
            return {}
        sketch = self.sketches[0]
        for more in self.sketches[1:]:
            sketch = sketch + more
        known = sketch.tolist() if sketch.device.type == "cpu" else [sketch]
        return {
            "norm2": value(self.squares, lambda parts: hexfloat(total(parts))),
            "sketch": value(known, lambda row: [hexfloat(x) for x in row]),
        }


class _Scores:
    """Place of the largest output of each example, and how far the second largest lies below it."""

    def __init__(self, torch):
        self.torch = torch
        self.waiting, self.count = [], 0
        self.rows = 0
        self.places, self.margins = [], []

    def add(self, tensors, rows):
        """Take the first output that has a row of two or more scores for each example."""
        table = next((t for t in tensors if t.dim() == 2 and t.shape[0] == rows and t.shape[1] > 1), None)
        if table is None or not rows:
            return
        self.rows += rows
        room = MOST_ROWS - (self.rows - rows)
        if room <= 0:
            return
        if self.waiting and (
            self.waiting[-1].shape[1] != table.shape[1] or self.waiting[-1].dtype != table.dtype
        ):
            self._read()
        self.waiting.append(table[:room])
        self.count += table.numel()
        if table.numel() > SMALL or self.count >= ENOUGH:
            self._read()

    def _read(self):
        tables, self.waiting, self.count = self.waiting, [], 0
        table = tables[0] if len(tables) == 1 else self.torch.cat(tables)
        if table.element_size() < 4:
            table = table.float()
        best = table.topk(2, dim=1)[0].double()
        places, margins = table.argmax(1), best[:, 0] - best[:, 1]
        if table.device.type == "cpu":
            self.places += places.tolist()
            self.margins += margins.tolist()
        else:
            self.places.append(places)
            self.margins.append(margins)

    def fields(self, rows):
        """Empty where some examples have no such row."""
        if self.waiting:
            self._read()
        if not self.places or self.rows != rows:
            return {}
        return {
            "prediction": value(self.places, list),
            "margin": value(self.margins, lambda row: [hexfloat(x) for x in row]),
        }
