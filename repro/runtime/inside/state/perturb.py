"""Noise of one unit in the last place on every weight: a noise member's only difference from its reference.

Each element that is not zero moves by -1, 0 or +1 unit in the last place of its own type. A zero stays:
it has no last place of its size, and zeros are structure (biases before training, padding, masks).
"""

import ctypes

from ..bits.fingerprint import NAN
from .tensorfile import on_host, real, type_name

PIECE = 1 << 22
SIGN = {1: -(1 << 7), 2: -(1 << 15), 4: -(1 << 31), 8: -(1 << 63)}


def perturb(torch, tensors, member):
    """Move every weight; number of elements that moved. The program's generators are not used."""
    moved, seen = 0, set()
    for index, tensor in enumerate(tensors):
        tensor = real(torch, tensor)
        key = (tensor.device, tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        if tensor.numel() and key not in seen and type_name(tensor) in NAN:
            seen.add(key)
            moved += _move(torch, tensor, member * 1000003 + index)
    return moved


def _move(torch, tensor, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    host = on_host(tensor)
    host = host.clone() if host.data_ptr() == tensor.data_ptr() else host
    width, moved = host.element_size(), 0
    _, largest, _ = NAN[type_name(tensor)]
    whole = torch.empty(min(PIECE, host.numel()), dtype=_integer(torch, width), device="cpu")
    for first in range(0, host.numel(), PIECE):
        count = min(PIECE, host.numel() - first)
        bits = whole[:count]
        address, size = host.data_ptr() + first * width, count * width
        ctypes.memmove(bits.data_ptr(), address, size)
        changed, number = _moved(torch, bits.long(), SIGN[width], largest, generator)
        moved += number
        bits.copy_(changed)
        ctypes.memmove(address, bits.data_ptr(), size)
    tensor.copy_(host)
    return moved


def _moved(torch, bits, sign, largest, generator):
    """Bit patterns one unit further, the same, or one unit nearer to zero; and how many are others."""
    noise = torch.randint(-1, 2, bits.shape, generator=generator, dtype=torch.int64, device="cpu")
    negative = bits < 0
    size = torch.where(negative, bits - sign, bits)
    after = size + noise
    # Not to zero, not to infinity; zeros, infinities and NaN stay.
    free = (size > 0) & (size < largest) & (after > 0) & (after < largest)
    after = torch.where(free, after, size)
    number = int((after != size).sum())
    return torch.where(negative, after + sign, after), number


def _integer(torch, width):
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
