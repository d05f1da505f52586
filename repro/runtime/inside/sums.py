"""Norms and sketches that come out the same on every machine that holds the same numbers.

An ordinary sum depends on the number of threads and the width of the vector units. Here elements are
added in an order fixed by their positions, by elementwise operations only, which IEEE arithmetic
makes exact copies of one another: no difference is ever ours. Squares of float32 and narrower
numbers are exact in float64.
"""

import math

from .fingerprint import PERIOD, UnreadableError, constants, plain

SKETCH = 32
# For sketches a block holds an even number of sign periods, so that a position has one sign for good.
# For norms any size would do; this one stays in a core's cache, and folds up quickly.
CPU_BLOCK = {"norm": PERIOD // 2, "sketch": 2 * PERIOD}
GPU_BLOCK = {"norm": 128 * PERIOD, "sketch": 128 * PERIOD}
SMALL = PERIOD // 2
# So many sums are added on the host, exactly: cheaper than folding on to the last.
LEFT_OVER = 1024


def packed(torch, tensors):
    """Flat pieces that hold the elements of all (plain) tensors, one after another; small ones together."""
    group, size = [], 0
    for tensor in tensors:
        flat = tensor.reshape(-1)
        if group and (flat.dtype != group[0].dtype or size >= SMALL):
            yield _joined(torch, group)
            group, size = [], 0
        group.append(flat)
        size += flat.numel()
    if group:
        yield _joined(torch, group)


def _joined(torch, group):
    # Wide tensors are widened piece by piece (see Accumulator.add), not here as a whole.
    return group[0] if len(group) == 1 else torch.cat(group)


def total(parts):
    """Exactly rounded sum of numbers that are not negative."""
    try:
        return math.fsum(parts)
    except OverflowError:
        return math.inf


def _block(device, use):
    return (CPU_BLOCK if device.type == "cpu" else GPU_BLOCK)[use]


class Accumulator:
    """Sums of elements, or of their squares, by position within a block."""

    def __init__(self, torch, device, count, squares):
        limit = _block(device, "norm" if squares else "sketch")
        self.size = SKETCH
        while self.size < min(count, limit):
            self.size *= 2
        self.sums = torch.zeros(self.size, dtype=torch.float64, device=device)
        self.at = 0
        self.squares = squares

    def add(self, flat):
        """Add the next elements."""
        first, count = 0, flat.numel()
        narrow = flat.dtype != self.sums.dtype
        while first < count:
            taken = min(self.size - self.at, count - first)
            piece = flat[first : first + taken] if taken != count else flat
            self._take(piece.double(), narrow)
            self.at = (self.at + taken) % self.size
            first += taken

    def _take(self, piece, narrow):
        place = self.sums if piece.numel() == self.size else self.sums[self.at : self.at + piece.numel()]
        if self.squares and narrow:
            # The product is exact, so it does not matter whether this machine rounds it before adding.
            place.addcmul_(piece, piece)
        elif self.squares:
            place.add_(piece * piece)
        else:
            place.add_(piece)

    def folded(self, width):
        """The sums added up to `width` numbers, element j holding all positions that are j modulo `width`."""
        sums = self.sums
        while sums.numel() > width:
            half = sums.numel() // 2
            sums = sums[:half] + sums[half:]
        return sums


class Sums:
    """Squared norms and sketches of lists of tensors."""

    def __init__(self, torch):
        self.torch = torch
        self.signs = {}

    def norm2(self, tensors):
        """Parts of the squared norm, for `total`: a float from the CPU, else a tensor on its device."""
        parts = []
        for device, group in self._by_device(tensors):
            folded = self._run(device, group, squares=True).folded(LEFT_OVER)
            parts.append(total(folded.tolist()) if device.type == "cpu" else folded)
        return parts

    def sketch(self, tensors):
        """The 32 sums of docs/formats.md, for tensors of one device; None where they lie on several."""
        groups = self._by_device(tensors)
        if len(groups) != 1:
            return None
        ((device, group),) = groups
        run = self._run(device, group, squares=False)
        run.sums = run.sums * self._signs(device)[: run.size]
        return run.folded(SKETCH)

    def nonfinite(self, tensors):
        """Number of NaN and infinite elements, one number a device."""
        found = []
        for _, group in self._by_device(tensors):
            counts = [(flat - flat).ne(0).sum() for flat in packed(self.torch, group)]
            count = sum(counts[1:], counts[0])
            found.append(count.item() if count.device.type == "cpu" else count)
        return found

    def _by_device(self, tensors):
        groups = {}
        for tensor in tensors:
            try:
                tensor = plain(self.torch, tensor)
            except UnreadableError:
                continue
            groups.setdefault(tensor.device, []).append(tensor)
        return list(groups.items())

    def _run(self, device, group, squares):
        count = sum(t.numel() for t in group)
        run = Accumulator(self.torch, device, count, squares)
        for flat in packed(self.torch, group):
            run.add(flat)
        return run

    def _signs(self, device):
        if device not in self.signs:
            row = [-1.0 if w & 2 else 1.0 for w in constants()]
            signs = self.torch.tensor(row + [-s for s in row], dtype=self.torch.float64, device=device)
            limit = _block(device, "sketch")
            self.signs[device] = signs.repeat(limit // signs.numel())
        return self.signs[device]
