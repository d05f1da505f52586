"""Norms and sketches that come out the same on every machine that holds the same numbers.

An ordinary sum depends on the number of threads and the width of the vector units. Here elements are
added in an order fixed by their positions, by elementwise operations only, which IEEE arithmetic
makes exact copies of one another: no difference is ever ours. Squares of float32 and narrower
numbers are exact in float64.
"""

import math

from .constants import PERIOD, constants
from .fingerprint import UnreadableError, plain

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

    def __init__(self, rooms, device, count, squares):
        limit = _block(device, "norm" if squares else "sketch")
        self.size = SKETCH
        while self.size < min(count, limit):
            self.size *= 2
        self.sums = rooms.zeros(device, self.size, squares)
        self.at = 0
        self.squares = squares

    def take(self, piece, narrow):
        """Add the next elements, in float64, as many as fit behind `at`; `narrow`: they were no float64."""
        count = piece.numel()
        place = self.sums if count == self.size else self.sums[self.at : self.at + count]
        self.at = (self.at + count) % self.size
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
            sums = sums[:half].add_(sums[half:])
        return sums.clone()


class Rooms:
    """Memory that is used again: for large temporaries the system would give fresh pages each time."""

    def __init__(self, torch):
        self.torch = torch
        most = CPU_BLOCK["sketch"]
        # Made now, since what is made in torch.inference_mode could not be written to outside of it.
        self.sums = {squares: torch.zeros(most, dtype=torch.float64) for squares in (True, False)}
        self.wide = torch.zeros(CPU_BLOCK["norm"], dtype=torch.float64)

    def zeros(self, device, count, squares):
        """Zeros to add to; on a CPU those of the last call for the same use."""
        if device.type != "cpu":
            return self.torch.zeros(count, dtype=self.torch.float64, device=device)
        return self.sums[squares][:count].zero_()

    def doubles(self, flat):
        """The elements in float64."""
        if flat.device.type == "cpu" and flat.numel() <= self.wide.numel() and flat.dtype != self.wide.dtype:
            return self.wide[: flat.numel()].copy_(flat)
        return flat.double()


def feed(rooms, flat, *runs):
    """Add the next elements to each of some accumulators; they are widened once for all."""
    first, count = 0, flat.numel()
    narrow = flat.dtype != runs[0].sums.dtype
    while first < count:
        taken = min(count - first, *[run.size - run.at for run in runs])
        piece = rooms.doubles(flat[first : first + taken] if taken != count else flat)
        for run in runs:
            run.take(piece, narrow)
        first += taken


class Sums:
    """Squared norms and sketches of lists of tensors."""

    def __init__(self, torch):
        self.torch = torch
        self.rooms = Rooms(torch)
        self.signs = {}

    def norm2(self, tensors):
        """Parts of the squared norm, for `total`: a float from the CPU, else a tensor on its device."""
        return [
            self._told(self._run(device, group, squares=True), device)
            for device, group in self._by_device(tensors)
        ]

    def sketch(self, tensors, offset=0):
        """The 32 sums of docs/formats.md, for tensors of one device; None where they lie on several.

        `offset` is the number of the first element, where others have gone before.
        """
        groups = self._by_device(tensors)
        if len(groups) != 1:
            return None
        ((device, group),) = groups
        return self._signed(self._run(device, group, squares=False, first=offset % (2 * PERIOD)), device)

    def norm2_and_sketch(self, tensors):
        """Both, in one walk over the elements."""
        groups = self._by_device(tensors)
        if len(groups) != 1:
            return self.norm2(tensors), None
        ((device, group),) = groups
        count = sum(t.numel() for t in group)
        squares = Accumulator(self.rooms, device, count, squares=True)
        plain_sums = Accumulator(self.rooms, device, count, squares=False)
        for flat in packed(self.torch, group):
            feed(self.rooms, flat, squares, plain_sums)
        return [self._told(squares, device)], self._signed(plain_sums, device)

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

    def _told(self, run, device):
        folded = run.folded(LEFT_OVER)
        return total(folded.tolist()) if device.type == "cpu" else folded

    def _signed(self, run, device):
        run.sums.mul_(self._signs(device)[: run.size])
        return run.folded(SKETCH)

    def _run(self, device, group, squares, first=0):
        count = first + sum(t.numel() for t in group)
        run = Accumulator(self.rooms, device, count, squares)
        run.at = first
        for flat in packed(self.torch, group):
            feed(self.rooms, flat, run)
        return run

    def _signs(self, device):
        if device not in self.signs:
            torch = self.torch
            table = torch.tensor(constants(), dtype=torch.int64, device=device)
            row = 1.0 - (table & 2).double()
            limit = _block(device, "sketch")
            self.signs[device] = torch.cat([row, -row]).repeat(limit // (2 * PERIOD))
        return self.signs[device]
