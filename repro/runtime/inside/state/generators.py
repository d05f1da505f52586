"""States of the random generators, taken and put back without drawing a number.

A generator object that the program made for itself is its own affair: none of those is looked at.
"""

import json
import sys

from ...hexfloat import hexfloat, unhex
from .tensorfile import TensorFileError

NUMPY = "MT19937"


def tensors(torch):
    """(name, uint8 tensor) of torch's generators: the host's, and those of CUDA devices in use."""
    found = [("rng.torch", torch.get_rng_state())]
    if cuda_in_use(torch):
        numbers = range(torch.cuda.device_count())
        found += [("rng.cuda.%d" % number, torch.cuda.get_rng_state(number)) for number in numbers]
    return found


def cuda_in_use(torch):
    """Whether the program has touched a CUDA device; asking devices would make it so."""
    return bool(getattr(torch.cuda, "is_initialized", bool)())


def texts(used):
    """States of Python's and NumPy's generators as JSON, of those whose names are in `used`."""
    found = {}
    if "python" in used:
        version, words, gauss = sys.modules["random"].getstate()
        found["python"] = json.dumps([version, list(words), None if gauss is None else hexfloat(gauss)])
    if "numpy" in used:
        state = sys.modules["numpy.random"].get_state()
        if isinstance(state, tuple) and state[0] == NUMPY:
            name, words, position, has_gauss, gauss = state
            found["numpy"] = json.dumps(
                [name, [int(w) for w in words], int(position), int(has_gauss), hexfloat(gauss)]
            )
    return found


def put_back(torch, file):
    """Set the generators to the file's states; the names of those that are not here."""
    missing = []
    for name in file.rows:
        if name == "rng.torch":
            torch.set_rng_state(_state(torch, file, name, torch.get_rng_state()))
        elif name.startswith("rng.cuda."):
            number = int(name[len("rng.cuda.") :])
            if cuda_in_use(torch) and number < torch.cuda.device_count():
                kept = _state(torch, file, name, torch.cuda.get_rng_state(number))
                torch.cuda.set_rng_state(kept, number)
            else:
                missing.append(name)
    for name, put in (("python", _python), ("numpy", _numpy)):
        if name in file.metadata and not put(_decoded(file, name)):
            missing.append(name)
    return missing


def _state(torch, file, name, present):
    """A generator's state from the file, of the size that this torch has: a wrong one may crash it."""
    kept = file.read(torch, name)
    if kept.dtype != torch.uint8 or kept.shape != present.shape:
        raise TensorFileError(
            "`%s` holds %d bytes for `%s`, this torch has %d"
            % (file.path, kept.numel(), name, present.numel())
        )
    return kept


def _decoded(file, name):
    try:
        return json.loads(file.metadata[name])
    except ValueError:
        raise TensorFileError("`%s`: the state of %s's generator is no JSON" % (file.path, name)) from None


def _python(state):
    try:
        version, words, gauss = state
        sys.modules["random"].setstate((version, tuple(words), None if gauss is None else unhex(gauss)))
    except (TypeError, ValueError, OverflowError) as problem:
        raise TensorFileError("the state of python's generator does not fit: %s" % problem) from None
    return True


def _numpy(state):
    module = sys.modules.get("numpy.random")
    if module is None:
        return False
    try:
        name, words, position, has_gauss, gauss = state
        module.set_state((name, words, position, has_gauss, unhex(gauss)))
    except (TypeError, ValueError, OverflowError) as problem:
        raise TensorFileError("the state of numpy's generator does not fit: %s" % problem) from None
    return True
