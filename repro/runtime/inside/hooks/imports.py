"""Waits for the program to import torch, then puts the recorder's hooks in place.

Nothing is imported early: a program without torch pays one look into a set for each import. Every
place hooked exists from torch 1.4 on, except the gradient scaler (1.6).
"""

import functools
import importlib.util
import os
import sys

from ...closing import SEEN_PYTHON, SEEN_TORCH
from ..place import outside


def _recorder_for(module):
    from ..record.recorder import Recorder
    from .ending import watch_end
    from .seat import Seat

    every = int(os.environ.get("REPRO_RUNTIME_EVERY") or 0)
    seat = Seat(functools.partial(Recorder, module, os.environ["REPRO_RUNTIME_ATTEMPT"], every))
    watch_end(seat)
    return seat


def _optimizers(seat, module):
    from .optimizer import install

    install(seat, module.Optimizer)


def _modules(seat, module):
    from ..bits.registry import install

    install(seat, module.Module)


def _backward(seat, torch):
    from .loss import install

    install(seat, torch)


def _files(seat, torch):
    from .checkpoints import install

    install(seat, torch)


def _loader(seat, module):
    from .stream import install

    install(seat, module)


def _loader_facts(seat, module):
    from ..place.loaders import install

    install(seat, module)


def _scaler(seat, module):
    from .scaler import install

    install(seat, module.GradScaler)


def _dynamo(seat, module):
    seat.recorder.forward.correct(module)


def _numpy(seat, _module):
    seat.recorder.random.numpy_is_here()


# Module that holds the thing to be hooked, and what hooks it. The first row makes the recorder.
AFTER_TORCH = (
    ("torch.optim.optimizer", _optimizers),
    ("torch.nn.modules.module", _modules),
    ("torch", _backward),
    ("torch", _files),
    ("torch.utils.data.dataloader", _loader),
    ("torch.utils.data.dataloader", _loader_facts),
    ("torch.amp.grad_scaler", _scaler),
    ("torch.cuda.amp.grad_scaler", _scaler),
    ("torch._dynamo.utils", _dynamo),
    ("numpy.random", _numpy),
)


class Watcher:
    """A finder that lets others find a module and is told when it has been loaded."""

    def __init__(self, outside=None):
        self.seat = None
        self.outside = outside
        self.searching = set()
        self.waiting = {"torch"}

    def find_spec(self, name, _path=None, _target=None):
        """Importlib's question; answered by the other finders, with our loader around theirs."""
        if name not in self.waiting or name in self.searching:
            return None
        self.searching.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self)
        return spec

    def loaded(self, module):
        """Called after a module that we wait for has run; no failure of ours leaves it."""
        try:
            self.waiting.discard(module.__name__)
            if module.__name__ == "torch":
                self._torch(module)
            elif self.seat is not None:
                self._hook(module.__name__)
        except Exception as problem:
            sys.stderr.write("repro: recording is off: %s: %s\n" % (type(problem).__name__, problem))

    def _torch(self, torch):
        touch(SEEN_TORCH)
        self.seat = _recorder_for(torch)
        self.seat.recorder.outside = self.outside
        for name in sorted({name for name, _ in AFTER_TORCH}):
            if name in sys.modules:
                self._hook(name)
            else:
                self.waiting.add(name)

    def _hook(self, name):
        for wanted, hook in AFTER_TORCH:
            if wanted == name:
                hook(self.seat, sys.modules[name])


class _Loader:
    """Another loader, and a word to the watcher once it has run the module."""

    def __init__(self, loader, watcher):
        self.loader = loader
        self.watcher = watcher

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        """The module object, as the other loader makes it."""
        return self.loader.create_module(spec)

    def exec_module(self, module):
        """Run the module, give it back its own loader, and tell the watcher."""
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.watcher.loaded(module)


def touch(name):
    """Leave a mark for the supervisor in the attempt's cache folder."""
    path = os.path.join(os.environ["REPRO_RUNTIME_ATTEMPT"], "cache", name)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    except OSError:
        pass


def watch_imports():
    """Install the watcher; called once at the start of every Python process of the program."""
    touch(SEEN_PYTHON)
    sys.meta_path.insert(0, Watcher(outside.start()))
