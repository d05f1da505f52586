"""torch.save and torch.load: which file, which tensors."""

import functools
import json
import os

from ...closing import SAVES
from ...hexfloat import MASK, hex16
from ..bits.fingerprint import Fingerprints, UnreadableError

MOST_ELEMENTS = 1 << 30  # about two seconds of one core; larger files are listed without fingerprint
MOST_LOADS = 64


def tensors_in(torch, value):
    """Every tensor in a nested value, in its order; of modules and optimizers, those of their state."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for key in value for t in tensors_in(torch, value[key])]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors_in(torch, item)]
    if isinstance(value, (torch.nn.Module, torch.optim.Optimizer)):
        return tensors_in(torch, value.state_dict())
    return []


def describe(torch, value):
    """Number of tensors and one fingerprint over all (salt: the position), None when that costs too much."""
    tensors = tensors_in(torch, value)
    found = {"tensors": len(tensors), "fingerprint": None}
    if sum(t.numel() for t in tensors) > MOST_ELEMENTS:
        return found
    prints, total = Fingerprints(torch), 0
    try:
        for salt, tensor in enumerate(tensors):
            part = prints.of(tensor, salt)
            total += part if isinstance(part, int) else part.item()
    except UnreadableError:
        return found
    found["fingerprint"] = hex16(total & MASK)
    return found


def install(seat, torch):
    """Patch `torch.save` and `torch.load`."""
    torch.save = _save(seat, torch.save)
    torch.load = _load(seat, torch.load)


def _path_of(target):
    """Absolute path of a path or an open file; None for anything else, such as a buffer."""
    name = getattr(target, "name", target)
    try:
        return os.path.abspath(os.fspath(name)) if not isinstance(name, int) else None
    except TypeError:
        return None


def _save(seat, original):
    @functools.wraps(original)
    def save(obj, f, *args, **kwargs):
        result = original(obj, f, *args, **kwargs)
        path = _path_of(f)
        recorder = seat.present()
        if recorder is not None and path is not None:
            if hasattr(f, "flush"):
                f.flush()
            recorder.saved(obj, path)
        return result

    return save


def _load(seat, original):
    loads = []

    @functools.wraps(original)
    def load(f, *args, **kwargs):
        result = original(f, *args, **kwargs)
        path = _path_of(f)
        recorder = seat.present()
        # A data set may keep its samples in such files: those are not checkpoints.
        if recorder is not None and path is not None and not recorder.loading and len(loads) < MOST_LOADS:
            loads.append(path)
            recorder.loaded(result, path, not kwargs.get("mmap"))
        return result

    return load


def row(torch, op, path, value, described=True):
    """Fields of the `c` record of a file that was saved or loaded."""
    found = {"op": op, "path": path, "bytes": None, "sha256": None, "tensors": 0, "fingerprint": None}
    if os.path.exists(path):
        found["bytes"] = os.path.getsize(path)
    if described:
        found.update(describe(torch, value))
    return found


def note(attempt, record):
    """Tell the supervisor, who closes the list of checkpoints: one line, with the file's identity on disk."""
    line = dict(record)
    try:
        state = os.stat(record["path"])
        line["state"] = [state.st_ino, state.st_size, state.st_mtime_ns]
    except OSError:
        line["state"] = None
    fd = os.open(os.path.join(attempt, "cache", SAVES), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(fd, (json.dumps(line) + "\n").encode("utf-8"))
    finally:
        os.close(fd)
