"""Exact fingerprints of tensors, equal for equal bits whatever the device, its threads or their order.

The bits of element i, as a signed integer of the element's width, are b_i:

    F = sum of b_i * w[i mod 32768] * (2*(i div 32768) + 2*salt + 1)   modulo 2^64

with 32 768 odd constants w from `random.Random(20240229)`. Wrapping integer sums do not depend on
their order, so CPUs and GPUs may each add as they like. Frozen in docs/formats.md. The sum over each
block of 32 768 elements needs no salt, so it can be taken before the tensor's place is known.
"""

from ...hexfloat import MASK
from .constants import PERIOD, constants

# Elements at a time on a GPU, so that temporaries stay small; on a CPU one period stays in a core's cache.
GPU_PIECE = 128 * PERIOD
# Views of the constants that are kept: each saves a microsecond.
ROWS = 256

# Bits without the sign; the largest pattern that is no NaN; the one NaN that stands for all.
NAN = {
    "float16": (0x7FFF, 0x7C00, 0x7E00),
    "bfloat16": (0x7FFF, 0x7F80, 0x7FC0),
    "float32": (0x7FFFFFFF, 0x7F800000, 0x7FC00000),
    "float64": (0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000),
    "float8_e5m2": (0x7F, 0x7C, 0x7E),
    "float8_e4m3fn": (0x7F, 0x7E, 0x7F),
}


class UnreadableError(Exception):
    """A tensor whose elements cannot be looked at: no storage, or a layout without an order."""


class Fingerprints:
    """Fingerprints by one torch; keeps the constants on each device that was used."""

    def __init__(self, torch):
        self.torch = torch
        self.tables = {}
        self.rows = {}
        # Room that is used again: for large temporaries the system would give fresh pages each time.
        self.wide = torch.zeros(PERIOD, dtype=torch.int64)
        self.widths = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

    def of(self, tensor, salt):
        """F of a tensor: an integer for a CPU tensor, else a zero-dimensional int64 tensor on its device."""
        return self.within(tensor, 0, salt)

    def within(self, tensor, offset, salt):
        """What a tensor adds to F of a longer one, in which its first element has the number `offset`."""
        bits = self.bits(tensor)
        clean = self._cleaner(tensor, bits)
        block, start = divmod(offset, PERIOD)
        room = PERIOD - start
        if bits.numel() <= room:
            row = self._row(bits.device, start, start + bits.numel())
            return self.finish(self._dot(clean(bits), row), block + salt)
        if not start:
            return self.finish(self._sums(bits, clean), block + salt)
        first = self._dot(clean(bits[:room]), self._row(bits.device, start, PERIOD))
        rest = self.finish(self._sums(bits[room:], clean), block + 1 + salt)
        return added(self.finish(first, block + salt), rest)

    def block_sums(self, tensor):
        """Sum of b_i * w[i mod 32768] over each block, as an int64 tensor on the tensor's device."""
        bits = self.bits(tensor)
        return self._sums(bits, self._cleaner(tensor, bits))

    def _sums(self, bits, clean):
        torch = self.torch
        table = self._table(bits.device)
        count = bits.numel()
        if bits.device.type == "cpu":
            starts = range(0, max(count, 1), PERIOD)
            pieces = [clean(bits[n : n + PERIOD]) for n in starts]
            return torch.stack([self._dot(p, table[: p.numel()]) for p in pieces])
        sums = []
        whole = count - count % PERIOD
        for first in range(0, whole, GPU_PIECE):
            piece = clean(bits[first : min(first + GPU_PIECE, whole)]).view(-1, PERIOD)
            sums.append((piece * table).sum(1))
        if count % PERIOD or not count:
            sums.append(self._dot(clean(bits[whole:]), table[: count % PERIOD]).reshape(1))
        return sums[0] if len(sums) == 1 else torch.cat(sums)

    def _dot(self, bits, row):
        """Sum of products, as a zero-dimensional int64 tensor."""
        if bits.device.type == "cpu":
            if bits.dtype != row.dtype:
                bits = self.wide[: bits.numel()].copy_(bits)
            return self.torch.dot(bits, row)
        return (bits * row).sum()

    def finish(self, sums, salt):
        """F from the block sums and the tensor's position in its list."""
        if sums.device.type == "cpu":
            if sums.numel() == 1:
                return sums.item() * (2 * salt + 1) & MASK
            total = sum(s * (2 * (block + salt) + 1) for block, s in enumerate(sums.tolist()))
            return total & MASK
        if sums.numel() == 1:
            return sums.reshape(()) * (2 * salt + 1)
        blocks = self.torch.arange(sums.numel(), dtype=self.torch.int64, device=sums.device)
        return (sums * (blocks * 2 + (2 * salt + 1))).sum()

    def bits(self, tensor):
        """The elements in logical order as signed integers of their width: a flat tensor."""
        torch = self.torch
        tensor = plain(torch, tensor)
        if tensor.dtype == torch.bool:
            tensor = tensor.to(torch.uint8)
        flat = tensor.contiguous().reshape(-1)
        wanted = self.widths[flat.element_size()]
        if flat.dtype == wanted:
            return flat
        if flat.dtype == torch.uint8:
            return flat.to(torch.int8)
        try:
            return flat.view(wanted)
        except (TypeError, RuntimeError):
            return _bits_on_host(torch, flat, wanted)

    def _row(self, device, start, stop):
        """Constants of the places from start to stop; those asked for last are kept, for the next step."""
        rows = self.rows.setdefault(device, {})
        row = rows.get((start, stop))
        if row is None:
            if len(rows) >= ROWS:
                rows.clear()
            row = rows[start, stop] = self._table(device)[start:stop]
        return row

    def _table(self, device):
        if device not in self.tables:
            self.tables[device] = self.torch.tensor(constants(), dtype=self.torch.int64, device=device)
        return self.tables[device]

    def _cleaner(self, tensor, bits):
        """A function that makes every NaN of a piece the same; the identity where there is none."""
        name = dtype_name(tensor)
        if name not in NAN or (bits.device.type == "cpu" and self._surely_no_nan(tensor)):
            return lambda piece: piece
        body, largest, one = NAN[name]
        return lambda piece: piece.masked_fill((piece & body) > largest, one)

    def _surely_no_nan(self, tensor):
        """A sum that is a number has no NaN in it; cheap, and only ever wrong on the safe side."""
        if tensor.dtype not in (self.torch.float32, self.torch.float64):
            return False
        total = plain(self.torch, tensor).sum().item()
        return total == total


def added(total, part):
    """Sum modulo 2^64 of Python integers and int64 tensors, which wrap by themselves."""
    if hasattr(part, "reshape") and not hasattr(total, "reshape"):
        return part + _signed(total) if total else part
    if hasattr(total, "reshape") and not hasattr(part, "reshape"):
        return total + _signed(part)
    return total + part if hasattr(total, "reshape") else (total + part) & MASK


def _signed(number):
    return number - (1 << 64) if number >> 63 else number


def dtype_name(tensor):
    """Name of the element type, of the parts for complex numbers: `float32`."""
    name = str(tensor.dtype).replace("torch.", "")
    return {"complex64": "float32", "complex128": "float64", "complex32": "float16"}.get(name, name)


def plain(torch, tensor):
    """The tensor's own elements: detached, this rank's part of a sharded one, complex as pairs of reals."""
    tensor = tensor.detach()
    tensor = getattr(tensor, "_local_tensor", tensor)
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        raise UnreadableError("layout %s on %s" % (tensor.layout, tensor.device.type))
    if tensor.is_quantized:
        return tensor.int_repr()
    if getattr(tensor, "is_complex", bool)():
        resolve = getattr(tensor, "resolve_conj", None)
        tensor = torch.view_as_real(resolve() if resolve else tensor)
    if hasattr(tensor, "resolve_neg"):
        tensor = tensor.resolve_neg()
    return tensor


def _bits_on_host(torch, flat, wanted):
    """Bits where this torch cannot see one type as another (before 1.7): through a copy on the host."""
    import ctypes

    host = flat.cpu()
    if flat.dtype == getattr(torch, "bfloat16", None):
        # A bfloat16 is the upper half of the float32 of the same value.
        wide = _bits_on_host(torch, host.float(), torch.int32)
        return (
            wide.div(65536).floor().to(torch.int16)
            if not hasattr(wide, "__rshift__")
            else (wide >> 16).to(torch.int16)
        )
    kind = {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32, 8: ctypes.c_int64}[host.element_size()]
    try:
        import numpy

        return torch.from_numpy(host.numpy().view(numpy.dtype(kind)).copy())
    except (ImportError, TypeError, RuntimeError):
        row = (kind * host.numel()).from_address(host.data_ptr()) if host.numel() else []
        return torch.tensor(list(row), dtype=wanted)
