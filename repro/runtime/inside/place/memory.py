"""Peaks of torch's CUDA allocator. Asking costs some microseconds, so not at every step."""

import time

SECONDS = 1.0


class DeviceMemory:
    """The largest figures seen, and when they were asked for."""

    def __init__(self, torch):
        self.torch = torch
        self.allocated = self.reserved = 0
        self.asked = 0.0

    def grown(self, device, step, due):
        """An `x` record with the peaks in bytes when one has grown since the last time, else None."""
        if device.type != "cuda":
            return None
        now = time.monotonic()
        if not due and now - self.asked < SECONDS:
            return None
        self.asked = now
        allocated = self.torch.cuda.max_memory_allocated(device)
        reserved = self.torch.cuda.max_memory_reserved(device)
        if allocated <= self.allocated and reserved <= self.reserved:
            return None
        self.allocated, self.reserved = max(allocated, self.allocated), max(reserved, self.reserved)
        fields = {"allocated_bytes": self.allocated, "reserved_bytes": self.reserved}
        return dict(fields, k="x", what="memory", step=step)
