"""One step, module by module: what goes into each call and what comes out, and the gradients after it.

Hooks are on the modules for that step only. They read and change nothing. Inputs are read before the
call, since some modules work in place. Not seen: what runs inside of compiled code, in replicas on other
devices, and forward passes that backward repeats.
"""

import threading
import time

from ...hexfloat import MASK, hex16, hexfloat
from ..bits.fingerprint import UnreadableError, dtype_name
from ..bits.sums import total
from .names import named_modules
from .terms import terms

MOST_CALLS = 20000
UNKNOWN = "unknown"


class Recording:
    """The calls of one dense step; `close` writes them."""

    def __init__(self, journal, step, layout):
        self.journal = journal
        self.torch = journal.torch
        self.step = step
        self.thread = threading.get_ident()
        self.in_backward = getattr(self.torch._C, "_current_graph_task_id", lambda: -1)
        self.handles = []
        self.grad = True
        self.restart()
        names, unseen = named_modules(self.torch, layout)
        for module, name in names:
            self._hook(module, name)
        for reason, modules in sorted(unseen.items()):
            self._event("modules-unknown", modules=modules, reason=reason)

    def restart(self):
        """Forget the calls so far: the step they were made for was left out."""
        self.calls, self.stack, self.count, self.cut = [], [], 0, False

    def close(self, layout):
        """Take the hooks off and write the records; the step has just been taken."""
        self.abandon()
        for record in self.calls:
            self.journal.emit(record)
        if self.cut:
            self._event("modules-unknown", modules=[], reason="more than %d calls" % MOST_CALLS)
        elif not self.calls:
            self._event("modules-unknown", modules=[], reason="no call of a module was seen")
        grads = [None if p.grad is None else self._seen(p.grad) for p in layout.params]
        self.journal.emit({"k": "g", "step": self.step, "grads": grads})
        self.restart()

    def abandon(self):
        """Take the hooks off."""
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def _event(self, what, **fields):
        self.journal.emit(dict({"k": "x", "what": what, "step": self.step}, **fields))

    def _hook(self, module, name):
        compiling = self.journal.compiling

        def before(module, args, kwargs=None):
            # torch.compile traces this as the first test alone.
            if not compiling():
                self._watched(self._entered, module, name, (args, kwargs or {}))

        def after(module, _args, output):
            if not compiling():
                self._watched(self._left, module, output)

        try:
            self.handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        except TypeError:  # before torch 2.0
            self.handles.append(module.register_forward_pre_hook(before))
        self.handles.append(module.register_forward_hook(after))

    def _watched(self, method, *args):
        """Call a method of ours from within the program's forward: unseen, and without ever raising."""
        journal = self.journal
        off = not journal.alive or journal.busy or threading.get_ident() != self.thread
        if off or self.in_backward() != -1 or journal.capturing() or journal.sight.blocked():
            return
        start = time.perf_counter()
        self.grad = self.torch.is_grad_enabled()
        journal.busy = True
        try:
            with self.torch.no_grad():
                method(*args)
        except Exception as problem:
            journal.give_up(method.__name__, problem)
        finally:
            journal.busy = False
            kinds = journal.share.kinds
            kinds["dense"] = kinds.get("dense", 0.0) + time.perf_counter() - start

    def _entered(self, module, name, given):
        muted = self.stack[-1][1] is None if self.stack else self._evaluating(module)
        if muted or self.count >= MOST_CALLS:
            self.cut = self.cut or not muted
            self.stack.append((module, None))
            return
        inputs = self._seen_in(given)
        record = {
            "k": "m",
            "step": self.step,
            "n": self.count,
            "module": name,
            "class": type(module).__name__,
            "parent": self.stack[-1][1]["n"] if self.stack else None,
            "leaf": not any(child is not None for child in module._modules.values()),
            "weights": self._own(module),
            "terms": terms(module, inputs[0]["shape"] if inputs else []),
            "inputs": inputs,
        }
        self.count += 1
        self.stack.append((module, record))

    def _evaluating(self, module):
        """Whether an outermost call is an evaluation, which is no part of the step."""
        return not self.grad and not module.training

    def _left(self, module, output):
        while self.stack:
            entered, record = self.stack.pop()
            if entered is module:
                break
        else:
            return
        if record is not None:
            record["outputs"] = self._seen_in(output)
            self.calls.append(record)

    def _own(self, module):
        """Fingerprint over the module's own weights and buffers, None when it has none."""
        own = [t for table in (module._parameters, module._buffers) for t in table.values() if t is not None]
        try:
            return hex16(sum(self._print(t, salt) for salt, t in enumerate(own)) & MASK) if own else None
        except (UnreadableError, RuntimeError, ValueError):
            return UNKNOWN

    def _seen_in(self, value):
        try:
            return [self._seen(t) for t in self.journal.sight.tensors(value)]
        except UnreadableError:
            return [{"f": UNKNOWN, "shape": [], "dtype": ""}]

    def _seen(self, tensor):
        """A tensor as `Seen`: elements exactly, and how large they are."""
        tensor = tensor.detach()
        if tensor.layout == getattr(self.torch, "sparse_coo", None):
            tensor = tensor.coalesce()._values()
        record = {"f": UNKNOWN, "shape": list(tensor.shape), "dtype": dtype_name(tensor)}
        try:
            record["f"] = hex16(self._print(tensor, 0))
        except UnreadableError:
            return record
        if tensor.is_floating_point() and tensor.numel():
            sums = self.journal.sums
            squares = total(_numbers(sums.norm2([tensor])))
            record["norm2"] = hexfloat(squares)
            record["sketch"] = [hexfloat(x) for x in sums.sketch([tensor]).tolist()]
            finite = squares - squares == 0
            record["nonfinite"] = 0 if finite else int(sum(_numbers(sums.nonfinite([tensor]))))
        return record

    def _print(self, tensor, salt):
        found = self.journal.prints.of(tensor.detach(), salt)
        return found if isinstance(found, int) else found.item()


def _numbers(parts):
    """Numbers of which some are still on a device."""
    return [n for p in parts for n in (p.reshape(-1).tolist() if hasattr(p, "reshape") else [p])]
