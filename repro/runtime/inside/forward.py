"""Calls of the model: buffers before the first one, autocast, inputs where no loader gives batches.

From the first optimizer to the first step `Module.__call__` is patched, since only then is it known
which modules the program calls; then it is put back. While an outermost call runs it is as it was, so
that torch.compile, which traces and guards on it, never meets the patch. Where the program used no
DataLoader, the classes it did call keep a wrapper of their own. Hooks on modules are avoided: they
would be saved and copied with the model.
"""

import functools

from .fingerprint import UnreadableError


class ForwardWatch:
    """Outermost calls of modules that have parameters."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.torch = recorder.torch
        self.depth = 0
        self.original = None
        self.classes = []
        self.noted = {}
        self.met = {}
        self.autocast = None

    def arm(self):
        """Watch every module's call, until `settle`."""
        if self.original is None:
            base = self.torch.nn.Module
            self.original = base.__dict__["__call__"]
            base.__call__ = self._around(self.original, base)

    def settle(self, loader_seen):
        """Stop watching all; keep to the classes that were called when no loader tells of the batches."""
        if self.original is None:
            return
        self.torch.nn.Module.__call__, self.original = self.original, None
        if not loader_seen:
            for kind in self.classes:
                self._keep(kind)
        self.classes = []
        self.met = {}

    def forget(self):
        """Buffers noted so far no longer count."""
        self.noted = {}

    def buffer(self, owner, key):
        """Block sums of a buffer before the first forward, None when it was not seen."""
        row = self.noted.get((id(owner), key))
        return row[1] if row else None

    def _keep(self, kind):
        own = next((c.__dict__["__call__"] for c in kind.__mro__ if "__call__" in c.__dict__), None)
        base = self.torch.nn.Module
        if own is base.__dict__["__call__"]:
            # Looked up at each call: other tools patch it too.
            own = functools.partial(_call_module, base)
        kind.__call__ = self._around(own)

    def correct(self, dynamo_utils):
        """Tell torch.compile, imported while the patch was there, which function was there before."""
        if self.original is not None and hasattr(dynamo_utils, "unpatched_nn_module_call"):
            dynamo_utils.unpatched_nn_module_call = self.original

    def _around(self, original, patched=None):
        """A `__call__` that tells of outermost calls; meanwhile it is taken off the class `patched`."""
        watch = self

        @functools.wraps(original, assigned=("__doc__",), updated=())
        def __call__(self, *args, **kwargs):  # noqa: N807 (it is one)
            if watch.depth or watch.recorder.compiling():
                return original(self, *args, **kwargs)
            watch.recorder.model_called(self, args, kwargs, watch.torch.is_grad_enabled())
            watch.depth += 1
            if patched is not None:
                patched.__call__ = original
            try:
                return original(self, *args, **kwargs)
            finally:
                watch.depth -= 1
                if patched is not None and watch.original is not None:
                    patched.__call__ = __call__

        return __call__

    def entered(self, module, with_grad):
        """A module is called from outside of any other; True when its inputs are those of training."""
        if next(iter(module.parameters()), None) is None:
            return False
        if self.original is not None and id(module) not in self.met:
            # Kept until `settle`, so that its id stays its own.
            self.met[id(module)] = module
            self._meet(module)
        if with_grad and self.autocast is None:
            self.autocast = _autocast(self.torch)
        return with_grad

    def _meet(self, module):
        if type(module) not in self.classes and not issubclass(type(module), self.torch.jit.ScriptModule):
            self.classes.append(type(module))
        for part in module.modules():
            for key, buffer in part._buffers.items():
                if buffer is not None and (id(part._buffers), key) not in self.noted:
                    self._note(part._buffers, key, buffer)

    def _note(self, owner, key, buffer):
        try:
            # The dictionary is kept beside, so that its id stays its own.
            self.noted[id(owner), key] = (owner, self.recorder.prints.block_sums(buffer))
        except UnreadableError:
            pass


def _call_module(base, module, *args, **kwargs):
    return base.__call__(module, *args, **kwargs)


def _autocast(torch):
    """`off`, or the devices and types that autocast uses where the model is called."""
    try:
        kinds = [k for k in ("cuda", "cpu") if torch.is_autocast_enabled(k)]
        found = [(k, torch.get_autocast_dtype(k)) for k in kinds]
    except TypeError:
        found = _autocast_before_2_4(torch)
    except AttributeError:
        return "absent"
    return " ".join("%s:%s" % (k, str(d).replace("torch.", "")) for k, d in found) or "off"


def _autocast_before_2_4(torch):
    found = []
    if torch.is_autocast_enabled():
        found.append(("cuda", getattr(torch, "get_autocast_gpu_dtype", lambda: "float16")()))
    if getattr(torch, "is_autocast_cpu_enabled", bool)():
        found.append(("cpu", torch.get_autocast_cpu_dtype()))
    return found
