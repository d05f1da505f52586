"""Opens weight files, in a process of its own with the program's torch, and says what is in them.

Reads `{"paths": [...], "trusted": bool}` on standard input, writes `{"answers": [...]}`. Files that
came with the code are opened without running anything that is stored in them, where this torch can;
files that the program has just written itself (`trusted`) may hold any object.
"""

import json
import os
import pickle
import struct
import sys


def answer(_words):
    """Exit status 0; the answers are the last line of standard output."""
    request = json.loads(sys.stdin.read())
    sys.path.insert(0, os.getcwd())
    answers = [_look(path, request["trusted"]) for path in request["paths"]]
    sys.stdout.write("\n" + json.dumps({"answers": answers}) + "\n")
    return 0


def _look(path, trusted):
    row = {"path": path, "status": "passed", "reason": "", "tensors": 0, "fingerprint": None}
    try:
        opener = _safetensors if path.lower().endswith(".safetensors") else _torch
        row.update(opener(path, trusted))
    except Exception as problem:
        row.update(status="failed", reason="%s: %s" % (type(problem).__name__, _first_line(problem)))
    return row


def _first_line(problem):
    return (str(problem).strip().splitlines() or [""])[0][:300]


def _safetensors(path, _trusted):
    """The header is JSON, and every tensor lies within the file, one after another."""
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        if length > size - 8:
            raise ValueError("the header is longer than the file")
        header = json.loads(f.read(length).decode("utf-8"))
    tensors = [v for k, v in header.items() if k != "__metadata__"]
    ends = [v["data_offsets"][1] for v in tensors]
    if 8 + length + max(ends, default=0) != size:
        raise ValueError(
            "the file holds %d bytes, its header speaks of %d" % (size, 8 + length + max(ends, default=0))
        )
    return {"tensors": len(tensors), "reason": "header only"}


def _torch(path, trusted):
    try:
        import torch
    except ImportError:
        return {"status": "unknown", "reason": "there is no torch here to open it"}
    try:
        loaded = _load(torch, path, trusted)
    except (AttributeError, ImportError) as problem:
        return {"status": "unknown", "reason": "needs code that is not here: %s" % _first_line(problem)}
    except pickle.UnpicklingError as problem:
        if "weights_only" in str(problem) or "Unsupported" in str(problem):
            return {"status": "unknown", "reason": "holds other objects than tensors, which were not run"}
        raise
    from .inside.hooks.checkpoints import describe

    return describe(torch, loaded)


def _load(torch, path, trusted):
    if trusted:
        try:
            return torch.load(path, map_location="cpu", weights_only=False)
        except TypeError:
            return torch.load(path, map_location="cpu")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except TypeError:
        # Before torch 1.13 there is no way to open a file without trusting it; it came with the code.
        return torch.load(path, map_location="cpu")
