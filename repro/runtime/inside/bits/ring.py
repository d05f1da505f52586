"""Numbers that are still on the device are read a ring later, so that no step waits for them.

A record may hold `Later` values. Records keep their order. When the ring is full the waiting numbers
are copied to pinned memory behind the work already queued, and taken from there when the next ring is
full, or as soon as the device says that they have arrived.
"""

import time

SIZE = 32
FRESH_SECONDS = 1.0


class Later:
    """A value made by `form` from the numbers in `tensors` once they are on the host."""

    __slots__ = ("form", "tensors")

    def __init__(self, tensors, form):
        self.tensors = tensors
        self.form = form


def value(numbers, form):
    """`form` of Python numbers now, or of tensors later; `numbers` may mix both."""
    if not any(hasattr(n, "reshape") for n in numbers):
        return form(numbers)
    return Later(numbers, form)


class _Flight:
    """Records whose numbers are being copied."""

    def __init__(self, torch, records):
        self.records = records
        self.where = {}
        self.copies = []
        groups = {}
        for later in (v for r in records if type(r) is dict for v in r.values() if isinstance(v, Later)):
            for tensor in later.tensors:
                if hasattr(tensor, "reshape"):
                    groups.setdefault((tensor.dtype, tensor.device), {})[id(tensor)] = tensor
        for (_, device), tensors in groups.items():
            self._copy(torch, device, tensors)

    def _copy(self, torch, device, tensors):
        offset = 0
        for key, tensor in tensors.items():
            self.where[key] = (len(self.copies), offset, tensor.numel())
            offset += tensor.numel()
        flat = torch.cat([t.reshape(-1) for t in tensors.values()])
        if device.type != "cuda":
            self.copies.append((flat.to("cpu"), None))
            return
        host = torch.empty(flat.numel(), dtype=flat.dtype, device="cpu", pin_memory=True)
        with torch.cuda.device(device):
            host.copy_(flat, non_blocking=True)
            event = torch.cuda.Event()
            event.record()
        self.copies.append((host, event))

    def arrived(self):
        """Whether reading would not wait."""
        return all(event is None or event.query() for _, event in self.copies)

    def land(self):
        """The records with every number in place."""
        for _, event in self.copies:
            if event is not None:
                event.synchronize()
        lists = [host.tolist() for host, _ in self.copies]
        for record in self.records:
            for key, later in record.items() if type(record) is dict else ():
                if isinstance(later, Later):
                    record[key] = later.form([n for t in later.tensors for n in self._numbers(lists, t)])
            yield record

    def _numbers(self, lists, tensor):
        if not hasattr(tensor, "reshape"):
            return [tensor]
        copy, offset, count = self.where[id(tensor)]
        return lists[copy][offset : offset + count]


class Ring:
    """Passes records to `write` in order, some at a time, each when its numbers are known.

    Writing many at once costs a fraction of writing each in its step, when nothing of ours is in the
    processor's caches.
    """

    def __init__(self, torch, write):
        self.torch = torch
        self.write = write
        self.waiting = []
        self.flight = None
        self.turned = time.perf_counter()

    def add(self, record):
        """Take a record, which must not change any more, or its text."""
        self.waiting.append(record)
        if len(self.waiting) >= SIZE:
            self._turn()

    def keep_fresh(self, now):
        """Once a second, let go what has arrived and send off what waits, without waiting."""
        if now - self.turned < FRESH_SECONDS:
            return False
        if self.flight is not None and self.flight.arrived():
            self._land()
        if self.flight is None:
            self._turn()
        return True

    def drain(self):
        """Write everything, waiting for the device."""
        self._turn()
        self._land()

    def _turn(self):
        self._land()
        records, self.waiting = self.waiting, []
        if any(type(record) is dict and Later in map(type, record.values()) for record in records):
            self.flight = _Flight(self.torch, records)
        else:
            for record in records:
                self.write(record)
        self.turned = time.perf_counter()

    def _land(self):
        flight, self.flight = self.flight, None
        if flight is not None:
            for record in flight.land():
                self.write(record)
