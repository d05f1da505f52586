"""Run a training script unchanged and print one line in the end: digests of all that it leaves behind.

    python final_state.py OUT SCRIPT [ARGUMENT ...]

OUT is the folder where the script puts checkpoints. Covered are every tensor in the newest of them,
bit by bit, and the states of torch's, Python's and NumPy's generators. Python 3.6, torch 1.4 to newest.
"""

import ctypes
import hashlib
import json
import os
import random
import runpy
import sys


def tensor_bytes(tensor):
    """The elements in logical order; no NumPy between, so that every type has a way."""
    kept = tensor.detach().cpu().contiguous()
    return ctypes.string_at(kept.data_ptr(), kept.numel() * kept.element_size())


def parts(value, path=""):
    """Each tensor and number in a nested value, with the keys that lead to it."""
    if hasattr(value, "detach"):
        yield path, str(value.dtype).encode() + tensor_bytes(value)
    elif isinstance(value, dict):
        for key in value:
            for part in parts(value[key], "%s/%s" % (path, _unplaced(key))):
                yield part
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            for part in parts(item, "%s/%d" % (path, number)):
                yield part
    else:
        yield path, repr(_unplaced(value)).encode()


def _unplaced(value):
    """Torch before 1.5 names parameters in an optimizer's state by places in memory: no part of it."""
    return "place" if isinstance(value, int) and value > 1 << 32 else value


def digest(value):
    """SHA-256 over every part of a value."""
    known = hashlib.sha256()
    for path, data in parts(value):
        known.update(path.encode() + b"\0" + data)
    return known.hexdigest()


def main():
    """Run the script, then look."""
    out, script = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    import numpy

    # Scripts that seed torch alone leave these two to the system: no two runs would be equal.
    random.seed(0)
    numpy.random.seed(0)
    runpy.run_path(script, run_name="__main__")
    import torch

    newest = max(name for name in os.listdir(out) if name.endswith(".pt"))
    found = {
        "torch": torch.__version__,
        "checkpoint": newest,
        "tensors": digest(torch.load(os.path.join(out, newest))),
        "rng": digest(torch.get_rng_state()),
        "python": digest(random.getstate()),
        "numpy": digest(
            [part if not hasattr(part, "tolist") else part.tolist() for part in numpy.random.get_state()]
        ),
    }
    sys.stdout.write("\nfinal-state %s\n" % json.dumps(found, sort_keys=True))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
