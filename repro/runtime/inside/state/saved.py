"""A training's state in a file: weights, buffers, what the optimizers keep, the generators' states.

Taking it draws nothing and moves nothing. Putting it back happens in place, and only where every name,
shape and type fits: a state is never half of one training and half of another.
"""

import json

from ...hexfloat import hex16
from ...schema import SCHEMA
from . import generators, optstate
from .tensorfile import PIECE, TensorFile, TensorFileError, memory, on_host, real, type_name, write

MOST_TOLD = 5


class UnfitError(Exception):
    """A state that does not belong to this program; the message has both sides."""


def save(journal, layout, path, step):
    """Write the present state."""
    torch = journal.torch
    tensors = [("w.%d" % i, t) for i, t in enumerate(layout.params)]
    buffers = layout.buffer_tensors()
    tensors += [("b.%d" % i, t) for i, t in enumerate(buffers) if t is not None]
    kept, tree = optstate.laid_out(torch, layout)
    tensors += kept + generators.tensors(torch)
    prints = [journal.prints.of(t.detach(), i) for i, t in enumerate(layout.params)]
    metadata = {
        "schema": str(SCHEMA),
        "step": str(step),
        "names": json.dumps(layout.names),
        "buffer_names": json.dumps(layout.buffer_names),
        "weights": json.dumps([hex16(p if isinstance(p, int) else p.item()) for p in prints]),
        "state": json.dumps(tree),
    }
    metadata.update(generators.texts(journal.random.digests(layout.device)))
    write(torch, path, tensors, metadata)


class State:
    """A state file opened for a program's tensors."""

    def __init__(self, torch, path):
        self.torch = torch
        try:
            self.file = TensorFile(path)
        except OSError as problem:
            raise TensorFileError("`%s` cannot be read: %s" % (path, problem.strerror or problem)) from None
        self.names = self._list("names")
        self.buffer_names = self._list("buffer_names")
        self.weights = self._list("weights")
        self.copied = 0

    def _list(self, key):
        try:
            found = json.loads(self.file.metadata.get(key, ""))
        except ValueError:
            found = None
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise TensorFileError(
                "`%s` is no state of a training: its metadata has no list `%s`" % (self.file.path, key)
            )
        return found

    def check(self, layout):
        """Raise UnfitError unless weights and buffers are those of the program by name, shape and type."""
        pairs = (
            ("weight", "w.%d", self.names, layout.names, layout.params),
            ("buffer", "b.%d", self.buffer_names, layout.buffer_names, layout.buffer_tensors()),
        )
        problems = []
        for kind, pattern, theirs, ours, tensors in pairs:
            problems += self._differences(kind, pattern, theirs, ours, tensors)
        self.complain(problems)

    def complain(self, problems):
        """Raise UnfitError when there is a problem."""
        if problems:
            more = len(problems) - MOST_TOLD
            told = problems[:MOST_TOLD] + (["and %d more" % more] if more > 0 else [])
            raise UnfitError(
                "the state in `%s` does not fit the program: %s" % (self.file.path, "; ".join(told))
            )

    def _differences(self, kind, pattern, theirs, ours, tensors):
        found = []
        if len(theirs) != len(ours):
            found.append("the file has %d %ss, the program %d" % (len(theirs), kind, len(ours)))
        for index in range(max(len(theirs), len(ours))):
            there = self._theirs(pattern % index, theirs[index]) if index < len(theirs) else "none"
            here = _ours(self.torch, ours[index], tensors[index]) if index < len(ours) else "none"
            if there != here:
                found.append("%s %d: the file has %s, the program %s" % (kind, index, there, here))
        return found

    def _theirs(self, key, name):
        if key not in self.file.rows:
            return "`%s` taken away" % name
        kind, shape, _ = self.file.rows[key]
        return "`%s` %s %s" % (name, kind, shape)

    def put_weights(self, layout, copies=None):
        """Put weights and buffers, and `copies` of them, in place; keys of those whose bits were others."""
        changed = []
        for pattern, tensors in (("w.%d", layout.params), ("b.%d", layout.buffer_tensors())):
            for index, tensor in enumerate(tensors):
                key = pattern % index
                if tensor is None:
                    continue
                value = self.file.read(self.torch, key)
                twins = copies.of(tensor) if copies is not None else ()
                if put(self.torch, tensor, value):
                    changed.append(key)
                    self.copied += copies.replace(twins, value) if twins else 0
        return changed

    def put_all(self, layout):
        """Put everything in place; (keys of weights and buffers that were others, generators not here)."""
        restorer = optstate.Restorer(self.torch, layout, self.file, self._described(layout))
        self.complain(restorer.problems())
        changed = self.put_weights(layout)
        restorer.put()
        return changed, generators.put_back(self.torch, self.file)

    def _described(self, layout):
        rows = optstate.described(self.file)
        for index, number, _ in rows:
            if not (0 <= index < len(layout.params) and 0 <= number < len(layout.states)):
                raise UnfitError(
                    "the state in `%s` does not fit the program: it has optimizer %d for weight %d, the"
                    " program %d optimizers and %d weights"
                    % (self.file.path, number, index, len(layout.states), len(layout.params))
                )
        return rows


def _ours(torch, name, tensor):
    if tensor is None:
        return "`%s` taken away" % name
    try:
        plain = real(torch, tensor)
    except TensorFileError as problem:
        return "`%s`, %s" % (name, problem)
    return "`%s` %s %s" % (name, type_name(plain), list(plain.shape))


def put(torch, tensor, value):
    """Write a value into a tensor; False when it had these bits, and was left alone."""
    place = real(torch, tensor)
    if same_bits(on_host(place), value):
        return False
    place.copy_(value)
    return True


def same_bits(one, other):
    """Whether two contiguous tensors on the host hold the same bytes."""
    one_view, other_view = memory(one), memory(other)
    if len(one_view) != len(other_view):
        return False
    return all(
        bytes(one_view[at : at + PIECE]) == bytes(other_view[at : at + PIECE])
        for at in range(0, len(one_view), PIECE)
    )
