"""Which modules there are, without looking through every object of the process.

Each module is noted when it is made or unpickled. Looking among all objects, some hundred thousand
after an import of torch, takes a good part of what a short training may cost; it is still done where
a parameter belongs to no module that was noted.
"""

import functools
import gc
import itertools
import weakref

NOTED = "_repro_modules"
PRUNE_AT = 4096


class Noted:
    """Weak references to modules, in the order in which they were made."""

    def __init__(self):
        self.refs = []
        self.prune_at = PRUNE_AT

    def add(self, module):
        """A module was made."""
        self.refs.append(weakref.ref(module))
        if len(self.refs) >= self.prune_at:
            self.refs = [ref for ref in self.refs if ref() is not None]
            self.prune_at = max(PRUNE_AT, 2 * len(self.refs))

    def alive(self):
        """Modules that are still there, each once."""
        found = {id(module): module for module in (ref() for ref in self.refs) if module is not None}
        return [module for module in found.values() if "_modules" in module.__dict__]


def install(seat, base):
    """Note modules when they are made, and when they are unpickled or copied."""
    noted, compiling = Noted(), seat.recorder.compiling

    def wrap(original):
        @functools.wraps(original)
        def inner(self, *args, **kwargs):
            original(self, *args, **kwargs)
            if not compiling():
                noted.add(self)

        setattr(inner, NOTED, noted)
        return inner

    base.__init__ = wrap(base.__init__)
    base.__setstate__ = wrap(base.__setstate__)


def modules(base, wanted):
    """Modules alive, among them all that hold one of the wanted parameters (by id)."""
    noted = getattr(base.__init__, NOTED, None)
    known = noted.alive() if noted is not None else []
    owned = {id(p) for module in known for p in module._parameters.values() if p is not None}
    return known if owned.issuperset(wanted) else _among_all(base)


def _among_all(base):
    """By `type`, not `isinstance`: lazy proxies among the objects stay asleep. Most of the work is C's."""
    kinds = _subclasses(base, {base})
    objects = gc.get_objects()
    found = itertools.compress(objects, map(kinds.__contains__, map(type, objects)))
    return [module for module in found if "_modules" in module.__dict__]


def _subclasses(kind, found):
    for below in type.__subclasses__(kind):
        if below not in found:
            found.add(below)
            _subclasses(below, found)
    return found
