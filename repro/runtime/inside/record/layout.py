"""Which tensors make up the state, in which order, under which names.

Order is the optimizers' own; names are labels, found by looking for the modules that hold the
parameters. Only tensors, and the dictionaries they live in, are kept: never a module or an optimizer,
so that nothing lives longer because it is recorded.
"""

from ..bits import registry
from ..place.modules import described

WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module")


def clean_name(name):
    """A parameter's name without what DataParallel, torch.compile and FSDP put around it."""
    parts = [p for p in name.split(".") if p not in WRAPPERS]
    while len(parts) > 1 and parts[0] == "module":
        parts.pop(0)
    return ".".join(parts)


def find_roots(torch, wanted):
    """Modules that hold a wanted parameter (by id) and are in no other one, in order of their first."""
    modules = registry.modules(torch.nn.Module, wanted)
    inner = {id(child) for m in modules for child in m._modules.values() if child is not None}
    found = []
    for module in modules:
        if id(module) in inner:
            continue
        places = [wanted[id(p)] for p in module.parameters() if id(p) in wanted]
        if places:
            found.append((min(places), -len(places), len(found), module))
    return [row[3] for row in sorted(found, key=lambda row: row[:3])]


class Layout:
    """The tensors of one segment.

    Attributes:
        params: tensors; first those of the optimizers in their order, then other ones of the same modules.
        buffers: (dictionary, key, module's id, key again as noted by ForwardWatch) of each buffer.
        states: for each optimizer its state dictionary.
        modules: class and settings of every module, in words.
        device: of the first parameter.
    """

    def __init__(self, torch, optimizers):
        self.params, self.names = [], []
        self.place = {}
        self.groups = []
        for number, optimizer in enumerate(optimizers):
            self.groups.append(self._take(number, optimizer))
        self.counts = [sum(len(g["params"]) for g in o.param_groups) for o in optimizers]
        self.states = [o.state for o in optimizers]
        self.buffers, self.buffer_names = [], []
        self.modules = []
        self._take_roots(find_roots(torch, self.place))
        self.device = self.params[0].device if self.params else torch.device("cpu")

    def _take(self, number, optimizer):
        indices = []
        for group in optimizer.param_groups:
            for param in group["params"]:
                if id(param) not in self.place:
                    self._add(param, "opt%d.param%d" % (number, len(indices)))
                indices.append(self.place[id(param)])
        return indices

    def _add(self, param, name):
        self.place[id(param)] = len(self.params)
        self.params.append(param)
        self.names.append(name)

    def _take_roots(self, roots):
        titles, named, seen = {}, set(), set()
        for root in roots:
            title = type(root).__name__
            titles[title] = titles.get(title, 0) + 1
            title = title if titles[title] == 1 else "%s#%d" % (title, titles[title])
            prefix = title + "." if len(roots) > 1 else ""
            for name, param in root.named_parameters():
                self._name(param, prefix + clean_name(name), named)
            self._take_buffers(root, prefix, seen)
            self.modules += described(root, prefix, clean_name)

    def _name(self, param, name, named):
        if id(param) in named:
            return
        named.add(id(param))
        if id(param) in self.place:
            self.names[self.place[id(param)]] = name
        else:
            self._add(param, name)

    def _take_buffers(self, root, prefix, seen):
        for path, module in root.named_modules():
            for key, buffer in module._buffers.items():
                if buffer is None or (id(module), key) in seen:
                    continue
                seen.add((id(module), key))
                self.buffers.append((module._buffers, key))
                self.buffer_names.append(prefix + clean_name((path + "." if path else "") + key))

    def buffer_tensors(self):
        """The buffers as they are now; None for one that has been taken away."""
        return [owner.get(key) for owner, key in self.buffers]

    def state_values(self, index):
        """Numbers and tensors that the optimizers keep for a parameter, in order of their keys."""
        param = self.params[index]
        values = []
        for states in self.states:
            # `in` first: the dictionary makes entries when it is asked for missing ones.
            entry = states[param] if param in states else None  # noqa: SIM401
            if isinstance(entry, dict):
                for key in sorted(entry, key=str):
                    values += flattened(entry[key])
        return values


def flattened(value):
    """Tensors and numbers in a value, those of lists and tables one after another."""
    if hasattr(value, "detach") or isinstance(value, (int, float)):
        return [value]
    if isinstance(value, dict):
        return [v for key in value for v in flattened(value[key])]
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in flattened(item)]
    return []
