"""From one first step to the end of that training: what its records look like."""

import math
import os
import time
import weakref

from ..hexfloat import MASK, hex16, hexfloat
from ..schema import TRACE_FORMAT
from .fingerprint import UnreadableError
from .layout import Layout
from .ring import value
from .sums import Sums, total

UNKNOWN = "unknown"


class Segment:
    """Steps of a set of optimizers, counted from 1; `closed` once one of them is gone."""

    def __init__(self, torch, prints, random, gone, optimizers):
        self.torch = torch
        self.steps = 0
        self.closed = False
        self.layout = Layout(torch, optimizers)
        self.prints = prints
        self.sums = Sums(torch)
        self.random = random
        self.refs = [weakref.ref(o, lambda _ref: gone(self)) for o in optimizers]
        self.descriptions = [_describe(n, o, self.layout) for n, o in enumerate(optimizers)]
        self.rates = {}
        self.last_snapshot = None
        self.stepped = time.perf_counter()

    def number(self, optimizer):
        """The optimizer's number, None when the segment does not know it."""
        return next((n for n, ref in enumerate(self.refs) if ref() is optimizer), None)

    def covers(self, optimizer):
        """Whether a step of this optimizer, as it is now, belongs to the segment."""
        number = None if self.closed else self.number(optimizer)
        if number is None:
            return False
        return self.layout.counts[number] == sum(len(g["params"]) for g in optimizer.param_groups)

    def start_record(self, rank, world):
        """The `start` record."""
        layout = self.layout
        return {
            "k": "start",
            "format": TRACE_FORMAT,
            "rank": rank,
            "world": world,
            "pid": os.getpid(),
            "torch": str(self.torch.__version__),
            "optimizers": self.descriptions,
            "params": [_entry(n, t) for n, t in zip(layout.names, layout.params)],
            "buffers": [_entry(n, t) for n, t in zip(layout.buffer_names, layout.buffer_tensors())],
        }

    def step(self, optimizer, loss, stream, skipped):
        """The `s` record of a step that has just been taken."""
        now = time.perf_counter()
        number = self.number(optimizer)
        self.layout.states[number] = optimizer.state
        self.steps += 1
        summed, count = loss.take()
        record = {"k": "s", "step": self.steps, "opt": number, "loss": summed, "nb": count}
        record["gn"] = self._gradient_norm(optimizer)
        rates = self._rates(optimizer)
        if self.rates.get(number) != rates:
            self.rates[number] = rates
            record["lr"] = rates
        index, batch = stream.take_batch()
        record.update({k: v for k, v in (("idx", index), ("batch", batch)) if v is not None})
        record["rng"] = self.random.digests(self.layout.device)
        if skipped is not None:
            record["skipped"] = value(skipped, lambda found: any(found))
        record["dt"] = hexfloat(now - self.stepped)
        self.stepped = now
        return record

    def _gradient_norm(self, optimizer):
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if not grads:
            return None
        dense = [g.coalesce()._values() if g.is_sparse else g for g in grads]
        return value(self.sums.norm2(dense), lambda parts: hexfloat(math.sqrt(total(parts))))

    def _rates(self, optimizer):
        found = [g.get("lr") for g in optimizer.param_groups]
        if any(hasattr(r, "device") and r.device.type != "cpu" for r in found):
            return None  # kept on the device by the program; reading it would wait
        return [None if r is None else hexfloat(float(r)) for r in found]

    def snapshot(self, noted):
        """The `p` record of the present state, or None when this step has one or the state is gone.

        At step 0 buffers are taken as they were before the first forward, where `noted` saw them.
        """
        if self.closed or self.last_snapshot == self.steps:
            return None
        self.last_snapshot = self.steps
        layout = self.layout
        weights = [t.detach() for t in layout.params]
        record = {
            "k": "p",
            "step": self.steps,
            "weights": self._prints([self._print(t, i) for i, t in enumerate(weights)]),
        }
        record["buffers"] = self._prints([self._buffer(i, noted) for i in range(len(layout.buffers))])
        record["state"] = self._prints([self._state(i) for i in range(len(weights))])
        floats = [t for t in weights if t.is_floating_point()]
        squares = self.sums.norm2(floats)
        record["norm2"] = value(squares, lambda parts: hexfloat(total(parts)))
        sketch = self.sums.sketch(floats) if floats else None
        if sketch is not None:
            known = sketch.tolist() if sketch.device.type == "cpu" else [sketch]
            record["sketch"] = value(known, lambda row: [hexfloat(x) for x in row])
        record["nonfinite"] = self._nonfinite(floats, squares)
        return record

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
        sums = noted.buffer(owner, key) if self.steps == 0 else None
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
            mixed = _added(mixed, part)
        return mixed

    def _prints(self, parts):
        """A list of fingerprints as text, read in one go when they are on a device."""
        on_device = [p for p in parts if hasattr(p, "reshape")]
        if not on_device:
            return [UNKNOWN if p is None else hex16(p) for p in parts]
        return value(
            [-1 if p is None else p for p in parts],
            lambda row: [UNKNOWN if p is None else hex16(n) for p, n in zip(parts, row)],
        )

    def release(self):
        """Let the state go."""
        self.closed = True
        self.layout.params = []
        self.layout.states = []
        self.layout.buffers = []


def _added(total, part):
    """Sum modulo 2^64 of Python integers and int64 tensors, which wrap by themselves."""
    if hasattr(part, "reshape") and not hasattr(total, "reshape"):
        return part + _signed(total) if total else part
    if hasattr(total, "reshape") and not hasattr(part, "reshape"):
        return total + _signed(part)
    return total + part if hasattr(total, "reshape") else (total + part) & MASK


def _signed(number):
    return number - (1 << 64) if number >> 63 else number


def _entry(name, tensor):
    if tensor is None:
        return {"name": name, "shape": [], "dtype": UNKNOWN}
    return {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", "")}


def _describe(number, optimizer, layout):
    groups = [{k: _plain(v) for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    kind = type(optimizer).__name__
    return {"opt": number, "class": kind, "groups": groups, "params": layout.groups[number]}


def _plain(setting):
    """A group's setting as JSON: floats exact, a tensor only if reading it does not wait."""
    if isinstance(setting, bool) or setting is None or isinstance(setting, (int, str)):
        return setting
    if isinstance(setting, float):
        return hexfloat(setting)
    if isinstance(setting, (list, tuple)):
        return [_plain(s) for s in setting]
    if hasattr(setting, "device") and setting.device.type == "cpu" and setting.numel() == 1:
        return hexfloat(float(setting))
    return type(setting).__name__
