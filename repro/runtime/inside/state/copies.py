"""Copies that a program has made of its weights before training: averages, target networks, first values.

They were made from weights that the seed replaces, so they go along with it. A copy is known by its bits:
a tensor of the same shape and type that holds what the weight held. Constants tell nothing and stay.
"""

import gc

from .saved import put, same_bits
from .tensorfile import on_host, type_name


class Copies:
    """Tensors that are alive and are none of the layout's own."""

    def __init__(self, torch, layout):
        self.torch = torch
        own = {id(t) for t in layout.params + layout.buffer_tensors()}
        kinds = (torch.Tensor, torch.nn.Parameter)
        self.by_form = {}
        for one in gc.get_objects():
            if type(one) in kinds and id(one) not in own and _plain(torch, one):
                self.by_form.setdefault(_form(one), []).append(one)

    def of(self, tensor):
        """The copies of a tensor, as its bits are now."""
        there = self.by_form.get(_form(tensor), ())
        if not there or _constant(tensor):
            return []
        bits = on_host(tensor)
        return [one for one in there if same_bits(on_host(one), bits)]

    def replace(self, copies, value):
        """Write a value into copies; the number of those whose bits were others until now."""
        return sum(put(self.torch, one, value) for one in copies if not _fixed(one))


def _form(tensor):
    return tuple(tensor.shape), type_name(tensor), tensor.device


def _plain(torch, tensor):
    return tensor.layout == torch.strided and tensor.device.type != "meta" and not tensor.is_quantized


def _constant(tensor):
    flat = tensor.detach().reshape(-1)
    return flat.numel() < 2 or not bool((flat != flat[:1]).any())


def _fixed(tensor):
    return bool(getattr(tensor, "is_inference", bool)())
