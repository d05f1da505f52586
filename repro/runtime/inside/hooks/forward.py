"""Calls of models from outside of any other module: what goes in, what comes out, buffers before the first.

From the first optimizer to the first step `Module.__call__` is patched, since only then is it known
which modules the program calls; then it is put back, and the classes that were called keep a wrapper of
their own. While an outermost call runs in that first time all is as it was, so that torch.compile, which
traces and guards on it, never meets the patch. Hooks on modules are avoided: they would be saved and
copied with the model. Not seen: `model.forward(x)` called directly, classes called for the first time
after the first step, and what a compiled training step calls inside.
"""

import functools
import weakref

from ..bits.fingerprint import UnreadableError

MARK = "_repro_outermost"


class ForwardWatch:
    """Outermost calls of modules that have parameters."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.torch = recorder.torch
        self.original = self.patch = None
        self.classes = []
        self.with_weights = {}
        self.noted = {}
        self.met = {}
        self.autocast = None

    def arm(self):
        """Watch every module's call, until `settle`."""
        if self.original is None:
            base = self.torch.nn.Module
            self.original = base.__dict__["__call__"]
            base.__call__ = self.patch = self._around(self.original)

    def settle(self):
        """Stop watching all; keep to the classes that were called."""
        if self.original is None:
            return
        base, original, self.original = self.torch.nn.Module, self.original, None
        if base.__dict__["__call__"] is self.patch:
            # Else the program has put something of its own around it, and ours stays, to pass calls on.
            base.__call__ = original
        for kind in self.classes:
            if kind is not base and not hasattr(kind.__dict__.get("__call__"), MARK):
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
        if own is self.torch.nn.Module.__dict__["__call__"]:
            own = None
        kind.__call__ = self._around(own)

    def lift(self):
        """Take the patch of all modules off for the time of a call, unless something lies over it."""
        base = self.torch.nn.Module
        ours = base.__dict__["__call__"] is self.patch
        if ours:
            base.__call__ = self.original
        return ours

    def put_back(self):
        """Undo `lift`, unless the first step was taken in the meantime."""
        if self.original is not None:
            self.torch.nn.Module.__call__ = self.patch

    def correct(self, dynamo_utils):
        """Tell torch.compile, imported while the patch was there, which function was there before."""
        if self.original is not None and hasattr(dynamo_utils, "unpatched_nn_module_call"):
            dynamo_utils.unpatched_nn_module_call = self.original

    def _around(self, own):
        """A `__call__` around a class's own one, or that of all modules, that tells of outermost calls."""
        watch, hot, base = self, self.recorder.hot, self.torch.nn.Module
        compiling, grad_enabled = self.recorder.compiling, self.torch.is_grad_enabled

        @functools.wraps(own or base.__call__, assigned=("__doc__",), updated=())
        def __call__(self, *args, **kwargs):  # noqa: N807 (it is one)
            # That of all modules is looked up at each call: other tools patch it too.
            original = own or base.__call__
            # torch.compile traces this as the first test alone.
            if compiling() or hot.inside:
                return original(self, *args, **kwargs)
            grad = grad_enabled()
            taken, lifted = None, False
            if not (grad and hot.quiet):
                taken = watch.recorder.model_called(self, args, kwargs, grad)
                lifted = watch.original is not None and watch.lift()
            hot.inside = True
            try:
                result = original(self, *args, **kwargs)
            finally:
                hot.inside = False
                if lifted:
                    watch.put_back()
            if taken is not None:
                watch.recorder.model_returned(self, taken, result)
            return result

        setattr(__call__, MARK, True)
        return __call__

    def entered(self, module, with_grad):
        """A module is called from outside of any other; whether it is one of those that count."""
        if not self._has_weights(module):
            return False
        if self.original is not None and id(module) not in self.met:
            # Kept until `settle`, so that its id stays its own.
            self.met[id(module)] = module
            self._meet(module)
        if with_grad and self.autocast is None:
            self.autocast = _autocast(self.torch)
        return True

    def _has_weights(self, module):
        known = self.with_weights.get(id(module))
        if known is None or known[0]() is not module:
            known = weakref.ref(module), next(iter(module.parameters()), None) is not None
            self.with_weights[id(module)] = known
        return known[1]

    def _meet(self, module):
        if type(module) not in self.classes:
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
