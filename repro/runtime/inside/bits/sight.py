"""Which tensors of a call may be looked at, and when nothing may."""

import collections
import sys

from .fingerprint import UnreadableError


class Sight:
    """Tests for values that only stand for tensors, and for code that is watched by others.

    torch.fx passes proxies that write down what is done with them, torch.jit.trace and the modes of
    torch.func and torch._dispatch turn operations into something else. Ours would become part of it.
    """

    def __init__(self, torch):
        self.torch = torch
        self.tensor = torch.Tensor
        self.exact = (torch.Tensor, torch.nn.Parameter)
        self.dispatch = getattr(torch.Tensor, "__torch_dispatch__", None)
        inner = torch._C
        functorch = getattr(inner, "_functorch", None)
        self.tests = [
            test
            for test in (
                getattr(inner, "_get_tracing_state", None),
                getattr(inner, "_len_torch_dispatch_stack", None),
                getattr(functorch, "peek_interpreter_stack", None),
            )
            if test is not None
        ]

    def blocked(self):
        """Whether operations are being traced or replaced just now."""
        return any(test() for test in self.tests)

    def tensors(self, value):
        """Tensors in a value, those of lists and tables one after another."""
        if type(value) in self.exact:
            return [value]
        if isinstance(value, self.tensor):
            return [self._readable(value)]
        if isinstance(value, (dict, collections.UserDict)):
            return [t for key in value for t in self.tensors(value[key])]
        if isinstance(value, (list, tuple)):
            return [t for item in value for t in self.tensors(item)]
        return self._fields(value)

    def _readable(self, tensor):
        own = getattr(type(tensor), "__torch_dispatch__", None)
        if own is self.dispatch or hasattr(tensor, "_local_tensor"):
            return tensor
        raise UnreadableError(type(tensor).__name__)

    def _fields(self, value):
        """Tensors in the fields of a data class, as some models give back."""
        fields = getattr(type(value), "__dataclass_fields__", None)
        if fields and "dataclasses" in sys.modules:
            return [t for name in fields for t in self.tensors(getattr(value, name, None))]
        return []
