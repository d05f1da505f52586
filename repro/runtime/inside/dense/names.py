"""Which modules a dense step listens to, and what they are called."""

import gc

from ..record.layout import clean_name, find_roots


def named_modules(torch, layout):
    """((module, name) pairs, names that cannot be listened to by reason); each module once.

    The trained model comes first, under the names of the `start` record. Modules outside of it, such as
    a loss or a teacher, are called by their class.
    """
    walk = _Walk(torch)
    roots = find_roots(torch, layout.place)
    for title, root in _titled(roots):
        walk.take(root, title if len(roots) > 1 else "")
    for title, root in _titled(_others(torch, walk.met)):
        walk.take(root, title)
    return walk.found, walk.unseen


def _titled(roots):
    counts = {}
    for root in roots:
        title = type(root).__name__
        counts[title] = counts.get(title, 0) + 1
        yield (title if counts[title] == 1 else "%s#%d" % (title, counts[title])), root


def _others(torch, met):
    """Modules alive that are in no other and were not met yet."""
    base = torch.nn.Module
    modules = [o for o in gc.get_objects() if issubclass(type(o), base) and "_modules" in o.__dict__]
    inner = {id(child) for m in modules for child in m._modules.values() if child is not None}
    return [m for m in modules if id(m) not in inner and id(m) not in met]


class _Walk:
    def __init__(self, torch):
        self.torch = torch
        self.met = set()
        self.found = []
        self.unseen = {}

    def take(self, module, prefix, path=""):
        """Listen to a module and to all in it, but not to what is hidden from us."""
        if module is None or id(module) in self.met:
            return
        self.met.add(id(module))
        name = clean_name(path) if path else ""
        title = ".".join(part for part in (prefix, name if name != "module" else "") if part)
        reason = self._hidden(module)
        if reason != "compiled in place":
            self.found.append((module, title))
        if reason:
            self.unseen.setdefault(reason, []).append(title)
            self.met.update(id(part) for part in module.modules())
            return
        for key, child in module._modules.items():
            self.take(child, prefix, "%s.%s" % (path, key) if path else key)

    def _hidden(self, module):
        """Why what happens inside the module cannot be seen, empty when it can."""
        if getattr(module, "_compiled_call_impl", None) is not None:
            return "compiled in place"
        if "_orig_mod" in module._modules:
            return "compiled"
        if issubclass(type(module), self.torch.jit.ScriptModule):
            return "scripted"
        if issubclass(type(module), self.torch.nn.DataParallel) and len(module.device_ids) > 1:
            return "replicated over several devices"
        return ""
