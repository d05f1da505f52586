"""Fingerprints of streams: tensors that come in pieces are read as if they lay one after another.

A slot is the j-th tensor of one source (a data set, a module). Its pieces, the micro-batches of a step
or the batches of an evaluation, count their elements on, so other pieces of the same whole give the
same fingerprint (docs/formats.md, "Trace").
"""

import weakref

from ...hexfloat import MASK, hex16
from .constants import PERIOD
from .fingerprint import UnreadableError
from .ring import value

# Pieces up to this many elements are copied and read together, a copy costs a tenth of a look.
SMALL = 4096


class Slots:
    """The slots of one step or evaluation, numbered in order of first appearance."""

    def __init__(self, prints):
        self.prints = prints
        self.owners = []
        self.rows = {}
        self.total = self.size = 0
        self.parts = []
        self.empty = True
        self.partial = False

    def add(self, source, tensors):
        """The next piece of each slot of `source`."""
        owner = self._number(source)
        self.empty = self.empty and not tensors
        for place, tensor in enumerate(tensors):
            slot = self.rows.get((owner, place))
            if slot is None:
                slot = self.rows[owner, place] = _Slot(len(self.rows))
            try:
                self._take(slot, tensor)
            except UnreadableError:
                self.partial = True

    def leave_out(self):
        """A piece was not looked at: there is no fingerprint of the whole."""
        self.empty, self.partial = False, True

    def text(self):
        """The fingerprint, None when there is none; to be asked for once."""
        if self.empty or self.partial:
            return None
        for slot in self.rows.values():
            self._settle(slot)
        if not self.parts:
            return hex16(self.total)
        return value(self.parts + [self.total], lambda numbers: hex16(sum(numbers) & MASK))

    def _number(self, source):
        """The source's number in this step; it is not kept alive."""
        for number, owner in enumerate(self.owners):
            if owner() is source:
                return number
        try:
            self.owners.append(weakref.ref(source))
        except TypeError:
            # Lists and tuples have no weak references; one that is a data set outlives the step.
            self.owners.append(lambda: source)
        return len(self.owners) - 1

    def _take(self, slot, tensor):
        count = tensor.numel()
        small = count <= SMALL
        if slot.waiting and not (small and slot.takes(tensor)):
            self._settle(slot)
        if small and slot.offset:
            slot.waiting.append(tensor.detach().reshape(-1).clone())
            slot.count += count
            if slot.count >= PERIOD:
                self._settle(slot)
            return
        self._read(slot, tensor)

    def _settle(self, slot):
        if slot.waiting:
            pieces, slot.waiting, slot.count = slot.waiting, [], 0
            self._read(slot, pieces[0] if len(pieces) == 1 else self.prints.torch.cat(pieces))

    def _read(self, slot, tensor):
        part = self.prints.within(tensor, slot.offset, slot.salt)
        slot.offset += tensor.numel()
        if isinstance(part, int):
            self.total = (self.total + part) & MASK
        else:
            self.parts.append(part)


class _Slot:
    """Position in one slot's stream, and copies of small pieces that wait to be read."""

    __slots__ = ("count", "offset", "salt", "waiting")

    def __init__(self, salt):
        self.salt = salt
        self.offset = self.count = 0
        self.waiting = []

    def takes(self, tensor):
        """Whether the tensor can be laid behind those that wait."""
        last = self.waiting[-1]
        return last.dtype == tensor.dtype and last.device == tensor.device
