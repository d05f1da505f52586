"""From one first step to the end of that training: what its records look like."""

import math
import os
import time
import weakref

from ...hexfloat import hexfloat
from ...schema import TRACE_FORMAT
from ..bits.ring import value
from ..bits.sums import total
from .layout import Layout
from .passing import key
from .snapshot import UNKNOWN, Snapshots, values_of


class Segment:
    """Steps of a set of optimizers, counted from 1; `closed` once one of them is gone."""

    def __init__(self, recorder, optimizers):
        self.torch = torch = recorder.torch
        self.steps = 0
        self.closed = False
        self.layout = Layout(torch, optimizers)
        self.sums = recorder.sums
        self.snapshots = Snapshots(recorder, self.layout)
        # An address stays its own: when one of the optimizers is freed the segment is closed.
        self.numbers = {key(o): n for n, o in enumerate(optimizers)}
        self.refs = [weakref.ref(o, lambda _ref: recorder.optimizer_gone(self)) for o in optimizers]
        self.descriptions = [_describe(n, o, self.layout) for n, o in enumerate(optimizers)]
        self.raw, self.rates = {}, {}
        self.last_snapshot = None
        self.stepped, self.seconds = time.perf_counter(), 0.0

    def covers(self, optimizer):
        """Whether a step of this optimizer, as it is now, belongs to the segment."""
        number = self.numbers.get(key(optimizer))
        if number is None or self.closed:
            return False
        groups = optimizer.param_groups
        count = len(groups[0]["params"]) if len(groups) == 1 else sum(len(g["params"]) for g in groups)
        return self.layout.counts[number] == count

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
            "modules": layout.modules,
        }

    def step(self, optimizer, loss, skipped):
        """The `s` record of a step that has just been taken, as far as it is the same for every step."""
        now = time.perf_counter()
        number = self.numbers[key(optimizer)]
        self.layout.states[number] = optimizer.state
        self.steps += 1
        summed, count = loss.take()
        record = {"k": "s", "step": self.steps, "opt": number, "loss": summed, "nb": count}
        self.tell_rates(number, [group.get("lr") for group in optimizer.param_groups], record)
        if skipped is not None:
            record["skipped"] = value(skipped, lambda found: any(found))
        self.seconds, self.stepped = now - self.stepped, now
        record["dt"] = self.seconds.hex()
        return record

    def gradient_norm(self, optimizer):
        """The `gn` of the step, None where no parameter has a gradient."""
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if not grads:
            return None
        squares = self.sums.norm2([values_of(g) for g in grads])
        return value(squares, lambda parts: hexfloat(math.sqrt(total(parts))))

    def tell_rates(self, number, found, record):
        """Put an optimizer's learning rates into a step's record when they are not as they were."""
        # Numbers are compared, not tensors: those may be changed in place, or lie on a device.
        if found == self.raw.get(number) and all(type(rate) is float for rate in found):
            return
        self.raw[number] = found
        if any(hasattr(r, "device") and r.device.type != "cpu" for r in found):
            rates = None  # kept on the device by the program; reading it would wait
        else:
            rates = [None if r is None else hexfloat(float(r)) for r in found]
        if self.rates.get(number) != rates:
            self.rates[number] = record["lr"] = rates

    def snapshot(self, noted, fresh):
        """The `p` record of the present state, or None when this step has one or the state is gone."""
        if self.closed or self.last_snapshot == self.steps:
            return None
        self.last_snapshot = self.steps
        return self.snapshots.record(self.steps, noted, fresh)

    def release(self):
        """Let the state go."""
        self.closed = True
        self.layout.params = []
        self.layout.states = []
        self.layout.buffers = []


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
