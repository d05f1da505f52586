"""What optimizers keep for each parameter: laid out as tensors and a description, and rebuilt from them.

The description is a tree for each entry: {"t": name} a tensor, {"n": name} a number kept as a tensor,
{"v": value} nothing that needs one, {"d": [[key, tree], ...]} a table, {"l": [tree, ...]} a list,
{"x": type} something that is left as it is. Learning rates and the like are the program's own.
"""

import json

from .tensorfile import TensorFileError, real, type_name

MISSING = object()


def entries(layout):
    """(parameter's number, optimizer's number, entry) wherever an optimizer keeps something."""
    for index, param in enumerate(layout.params):
        for number, states in enumerate(layout.states):
            # `in` first: the dictionary makes entries when it is asked for missing ones.
            if param in states and isinstance(states[param], dict) and states[param]:
                yield index, number, states[param]


def laid_out(torch, layout):
    """((name, tensor) pairs, description) of all entries; names are `s.INDEX.KEY`."""
    tensors, described, holders = [], [], set()
    for index, number, entry in entries(layout):
        prefix = "s.%d" % index if index not in holders else "s.%d.opt%d" % (index, number)
        holders.add(index)
        tree = _Saver(torch, layout.params[index], tensors).tree(prefix, entry)
        described.append([index, number, tree])
    return tensors, described


class _Saver:
    def __init__(self, torch, param, tensors):
        self.torch, self.param, self.tensors = torch, param, tensors

    def tree(self, name, value):
        if isinstance(value, self.torch.Tensor):
            self.tensors.append((name, value))
            beside = value.device == self.param.device
            return {"t": name, "beside": beside, "complex": bool(getattr(value, "is_complex", bool)())}
        if value is None or isinstance(value, (bool, str)):
            return {"v": value}
        if isinstance(value, (int, float)):
            return self._number(name, value)
        if isinstance(value, dict) and all(isinstance(key, (str, int)) for key in value):
            keys = sorted(value, key=str)
            return {"d": [[key, self.tree("%s.%s" % (name, key), value[key])] for key in keys]}
        if isinstance(value, (list, tuple)):
            return {"l": [self.tree("%s.%d" % (name, i), v) for i, v in enumerate(value)]}
        return {"x": type(value).__name__}

    def _number(self, name, value):
        kind = self.torch.float64 if isinstance(value, float) else self.torch.int64
        try:
            self.tensors.append((name, self.torch.tensor(value, dtype=kind, device="cpu")))
        except (OverflowError, RuntimeError):
            return {"v": value}
        return {"n": name}


class Restorer:
    """Puts a file's optimizer state in place; `problems` first, so that nothing is done by halves."""

    def __init__(self, torch, layout, file, described):
        self.torch, self.layout, self.file, self.described = torch, layout, file, described

    def problems(self):
        """Sentences about what does not fit, each with both sides."""
        found, told = [], set()
        for index, number, tree in self.described:
            told.add((index, number))
            name = "optimizer %d for `%s`" % (number, self.layout.names[index])
            found += self._compare(name, tree, self._present(index, number))
        for index, number, entry in entries(self.layout):
            if (index, number) not in told:
                name = self.layout.names[index]
                keys = ", ".join(sorted(map(str, entry)))
                found.append("optimizer %d keeps %s for `%s`, the file nothing" % (number, keys, name))
        return found

    def put(self):
        """Put everything in place."""
        for index, number, tree in self.described:
            param, states = self.layout.params[index], self.layout.states[number]
            present = self._present(index, number)
            grown = self._grow(tree, present, param)
            if present is MISSING:
                states[param] = grown

    def _present(self, index, number):
        param, states = self.layout.params[index], self.layout.states[number]
        return states[param] if param in states else MISSING  # noqa: SIM401 (it makes what it has not)

    def _compare(self, name, tree, present):
        if present is MISSING or present is None or "x" in tree or "v" in tree:
            return []
        if "d" in tree and isinstance(present, dict):
            return self._compare_tables(name, tree, present)
        if "l" in tree and isinstance(present, (list, tuple)):
            pairs = zip(tree["l"], present)
            return [p for i, (t, v) in enumerate(pairs) for p in self._compare("%s.%d" % (name, i), t, v)]
        if "t" in tree or "n" in tree:
            return self._compare_leaf(name, tree, present)
        return ["%s: the file has another structure than the program" % name]

    def _compare_tables(self, name, tree, present):
        known = dict(tree["d"])
        found = [
            "%s: the program keeps `%s`, the file does not" % (name, key)
            for key in sorted(present, key=str)
            if key not in known and present[key] is not None
        ]
        for key, part in tree["d"]:
            found += self._compare("%s, `%s`" % (name, key), part, present.get(key, MISSING))
        return found

    def _compare_leaf(self, name, tree, present):
        kind, shape, _ = self.file.rows[tree.get("t") or tree.get("n")]
        if isinstance(present, (int, float)):
            here = ("a number", [])
        elif isinstance(present, self.torch.Tensor):
            plain = real(self.torch, present)
            here = (type_name(plain), list(plain.shape))
        else:
            return ["%s: the file has a tensor, the program %s" % (name, type(present).__name__)]
        # A count of steps is a number in one version of torch and a tensor in the next.
        if (not shape and not here[1]) or (kind, shape) == here:
            return []
        return ["%s: the file has %s %s, the program %s %s" % (name, kind, shape, here[0], here[1])]

    def _grow(self, tree, present, param):
        """The value that the tree describes; tensors and tables that are there stay the same objects."""
        if "v" in tree:
            return tree["v"]
        if "d" in tree:
            table = present if isinstance(present, dict) else {}
            for key, part in tree["d"]:
                if "x" not in part:
                    table[key] = self._grow(part, table.get(key, MISSING), param)
            return table
        if "l" in tree:
            there = list(present) if isinstance(present, (list, tuple)) else []
            there += [MISSING] * (len(tree["l"]) - len(there))
            grown = [self._grow(part, old, param) for part, old in zip(tree["l"], there)]
            return tuple(grown) if isinstance(present, tuple) else grown
        return self._leaf(tree, present, param)

    def _leaf(self, tree, present, param):
        kept = self.file.read(self.torch, tree.get("t") or tree["n"])
        if isinstance(present, self.torch.Tensor):
            place = real(self.torch, present)
            place.copy_(kept) if place.shape == kept.shape else place.fill_(kept.item())
            return present
        if isinstance(present, (int, float)) and not isinstance(present, bool):
            return type(present)(kept.item())
        if "n" in tree:
            return kept.item()
        kept = self.torch.view_as_complex(kept) if tree.get("complex") else kept
        if not tree.get("beside"):
            return kept
        if kept.shape == param.shape and kept.dtype == param.dtype:
            return self.torch.empty_like(param.detach()).copy_(kept)
        return kept.to(param.device)


def described(file):
    """The description in a file, checked against its tensors; TensorFileError when it is none."""
    try:
        rows = json.loads(file.metadata.get("state", "[]"))
        for index, number, tree in rows:
            if type(index) is not int or type(number) is not int:
                raise ValueError("an entry without numbers")
            _check(file, tree, 0)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise TensorFileError("`%s`: its optimizer state cannot be read" % file.path) from None
    return rows


def _check(file, tree, depth):
    if depth > 32:
        raise ValueError("too deep")
    for key in ("t", "n"):
        if key in tree:
            file.rows[tree[key]]
    for part in tree.get("l", []):
        _check(file, part, depth + 1)
    for _, part in tree.get("d", []):
        _check(file, part, depth + 1)
