"""Which samples were trained on: a running hash of their numbers, and fingerprints of their tensors.

The index side of a DataLoader with workers runs ahead of training. So indices wait in a queue, and
are hashed when their batch is handed out. They are hashed one by one: other micro-batches of the
same stream give the same hash.
"""

import collections
import functools
import hashlib
import re

from ..bits.fingerprint import UnreadableError
from ..bits.slots import Slots

QUEUE = "_repro_indices"
FULL_BYTES = 8 << 20
ADDRESS = re.compile("0x[0-9a-fA-F]{6,}")


class SampleStream:
    """Samples consumed since the start; batches, and what the model made of them, since the last step."""

    def __init__(self, prints, sight):
        self.prints = prints
        self.sight = sight
        self.hash = hashlib.blake2b(digest_size=8)
        self.hashed = False
        self.full = True
        self._fresh()

    def handed_out(self, source, indices, batch, looks):
        """A DataLoader over `source` gives `batch`, made of the samples `indices` (None: has no numbers)."""
        words = _words(indices)
        if words is not None:
            self.hashed = True
            self.hash.update(words)
        if looks:
            self._add(self.from_loader, source, batch)

    def entered(self, module, given):
        """A model is called for training; only the first call before each backward counts."""
        if self.expect_input and self.from_loader.empty:
            self.expect_input = False
            self._add(self.from_forward, module, given, lambda t: not t.requires_grad)

    def left(self, module, result):
        """A model has given back a result. A number over the whole batch is left to the loss."""
        self._add(self.outputs, module, result, lambda t: t.dim())

    def _add(self, slots, source, value, wanted=None):
        try:
            tensors = self.sight.tensors(value)
        except UnreadableError:
            slots.leave_out()
            return
        if wanted is not None:
            tensors = [t for t in tensors if wanted(t)]
        if not self.full:
            slots.size += sum(t.numel() * t.element_size() for t in tensors)
            if slots.size > FULL_BYTES:
                slots.leave_out()
                return
        slots.add(source, tensors)

    def index(self):
        """Hash of the samples so far, None where none had numbers."""
        return self.hash.copy().hexdigest() if self.hashed else None

    def take(self):
        """Fingerprints `batch` and `fwd` of the step, where there are any; starts afresh."""
        loader, forward, outputs = self.from_loader, self.from_forward, self.outputs
        self._fresh()
        texts = {"batch": (forward if loader.empty else loader).text(), "fwd": outputs.text()}
        return {name: text for name, text in texts.items() if text is not None}

    def forget(self):
        """A step has passed that is not told of."""
        if not (self.from_loader.empty and self.from_forward.empty and self.outputs.empty):
            self._fresh()
        self.expect_input = True

    def _fresh(self):
        self.from_loader, self.from_forward = Slots(self.prints), Slots(self.prints)
        self.outputs = Slots(self.prints)
        self.expect_input = True


def _words(indices):
    """Bytes for the sample numbers of a batch, None where the data set has none."""
    rows = indices if isinstance(indices, (list, tuple)) else [indices]
    words = [_word(row) for row in rows]
    return b"".join(words) if words and None not in words else None


def _word(index):
    if type(index) is int:
        return b"%d," % index
    if index is None:
        return None
    try:
        return b"%d," % index.__index__()
    except Exception:
        text = repr(index)
    # Where an object lies in memory is no name for a sample: it is another one in every run.
    if ADDRESS.search(text) and not isinstance(index, str):
        return None
    return text.encode("utf-8", "backslashreplace") + b","


def install(seat, module):
    """Patch the iterators of `torch.utils.data.dataloader`."""
    names = ("_BaseDataLoaderIter", "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")
    for kind in (getattr(module, name, None) for name in names):
        for method, wrap in (("_next_index", _next_index), ("__next__", _next), ("_reset", _reset)):
            if kind is not None and method in kind.__dict__:
                setattr(kind, method, wrap(seat, kind.__dict__[method]))


def _next_index(seat, original):
    @functools.wraps(original)
    def next_index(self):
        index = original(self)
        if seat.present() is not None:
            self.__dict__.setdefault(QUEUE, collections.deque()).append(index)
        return index

    return next_index


def _reset(_seat, original):
    @functools.wraps(original)
    def reset(self, *args, **kwargs):
        # An iterator that is used again: what was asked for and never handed out is forgotten.
        self.__dict__.pop(QUEUE, None)
        return original(self, *args, **kwargs)

    return reset


def _next(seat, original):
    @functools.wraps(original)
    def __next__(self):  # noqa: N807 (it is one)
        recorder = seat.present()
        if recorder is None or recorder.loading:
            return original(self)
        recorder.loading = True
        try:
            batch = original(self)
        finally:
            recorder.loading = False
        queue = self.__dict__.get(QUEUE)
        in_order = getattr(self, "_in_order", True)
        index = queue.popleft() if queue else None
        # Without gradients it is an evaluation, whose samples are no part of the training's stream.
        if recorder.torch.is_grad_enabled():
            recorder.batch(getattr(self, "_dataset", self), index if in_order else None, batch)
        return batch

    return __next__
