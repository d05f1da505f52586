"""Which samples were trained on: a running hash of their numbers, and fingerprints of their tensors.

The index side of a DataLoader with workers runs ahead of training. So indices wait in a queue, and
are hashed when their batch is handed out. They are hashed one by one: other micro-batches of the
same stream give the same hash.
"""

import collections
import functools
import hashlib
import time

from ..hexfloat import MASK, hex16
from .fingerprint import UnreadableError
from .layout import flattened
from .ring import value

QUEUE = "_repro_indices"
FULL_BYTES = 8 << 20


class SampleStream:
    """Samples consumed since the start, batches consumed since the last step."""

    def __init__(self, prints):
        self.prints = prints
        self.hash = hashlib.blake2b(digest_size=8)
        self.hashed = False
        self.seen = False
        self.full = True
        self.sampled_only = False
        self.from_loader = _Batch()
        self.from_forward = _Batch()
        self.expect_input = True
        self.seconds = 0.0

    def handed_out(self, indices, batch):
        """A DataLoader gives `batch`, made of the samples `indices` (None where it has no numbers)."""
        self.seen = True
        words = _words(indices)
        if words is not None:
            self.hashed = True
            self.hash.update(words)
        self._add(self.from_loader, flattened(batch))

    def entered(self, args, kwargs):
        """A model is called with these arguments; only the first call before each backward counts."""
        if self.expect_input:
            self.expect_input = False
            given = flattened(list(args)) + flattened(kwargs)
            self._add(self.from_forward, [t for t in given if not getattr(t, "requires_grad", False)])

    def _add(self, batch, items):
        start = time.perf_counter()
        tensors = [t for t in items if hasattr(t, "detach")]
        size = sum(t.numel() * t.element_size() for t in tensors)
        if self.full or (size <= FULL_BYTES and not self.sampled_only):
            for tensor in tensors:
                batch.add(self.prints, tensor)
        elif tensors:
            batch.partial = True
        self.seconds += time.perf_counter() - start

    def take_batch(self):
        """The record's `idx` and `batch`, None where there is nothing to tell; starts afresh."""
        loader, forward = self.from_loader, self.from_forward
        self.from_loader, self.from_forward = _Batch(), _Batch()
        self.expect_input = True
        index = self.hash.copy().hexdigest() if self.hashed else None
        return index, (loader if loader.count or loader.partial else forward).text()


class _Batch:
    """Fingerprint over the tensors of the batches of one step: salts go on from batch to batch."""

    def __init__(self):
        self.count = 0
        self.parts = []
        self.partial = False

    def add(self, prints, tensor):
        try:
            self.parts.append(prints.of(tensor, self.count))
        except UnreadableError:
            self.partial = True
        self.count += 1

    def text(self):
        if not self.parts or self.partial:
            return None
        return value(self.parts, lambda numbers: hex16(sum(numbers) & MASK))


def _words(indices):
    """Bytes for the sample numbers of a batch, None where the data set has none."""
    rows = indices if isinstance(indices, (list, tuple)) else [indices]
    if not rows or any(r is None for r in rows):
        return None
    return b"".join(_word(r) for r in rows)


def _word(index):
    if type(index) is int:
        return b"%d," % index
    try:
        return b"%d," % index.__index__()
    except Exception:
        return repr(index).encode("utf-8", "backslashreplace") + b","


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
            recorder.batch(index if in_order else None, batch)
        return batch

    return __next__
