"""What the program's torch is, and what devices it is shown; runs in a process of its own (child.py).

Nothing here fails: what cannot be read is None, with the reason in `problem`.
"""

import ctypes
import json
import sys
import warnings


def answer(_words):
    """Exit status 0; the reading is the last line of standard output."""
    found = read()
    sys.stdout.write("\n" + json.dumps(found) + "\n")
    return 0


def read():
    """`cuinit`, and of torch: `version`, `cuda`, `arch_list`, `available`, `devices`, and what it `said`.

    `cuinit` is what the driver's library answers to cuInit(0): 0 when all is well, None without that library.
    """
    found = dict.fromkeys(("version", "cuda", "arch_list", "available"))
    found.update(cuinit=_cuinit(), devices=[], said="", problem="")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            import torch

            _read_torch(torch, found)
        except Exception as problem:
            found["problem"] = "%s: %s" % (type(problem).__name__, _line(problem))
    about = [_line(w.message) for w in heard if "CUDA" in str(w.message)]
    found["said"] = found["said"] or "".join(about[:1])
    return found


def _cuinit():
    try:
        return int(ctypes.CDLL("libcuda.so.1").cuInit(0))
    except (OSError, AttributeError):
        return None


def _read_torch(torch, found):
    found["version"] = str(torch.__version__)
    found["cuda"] = torch.version.cuda or ""
    found["available"] = bool(torch.cuda.is_available())
    found["arch_list"] = _arch_list(torch)
    if found["cuda"] and not found["available"]:
        found["said"] = _refusal(torch)
    for index in range(torch.cuda.device_count() if found["available"] else 0):
        it = torch.cuda.get_device_properties(index)
        found["devices"].append(
            {
                "name": it.name,
                "capability": "%d.%d" % (it.major, it.minor),
                "memory_bytes": int(it.total_memory),
            }
        )


def _arch_list(torch):
    """Targets of torch's own kernels; None where this torch does not tell (before 1.7)."""
    ask = getattr(torch.cuda, "get_arch_list", None)
    listed = ask() if ask else []
    if not listed:  # it says nothing as long as there is no device that it could use
        flags = getattr(getattr(torch, "_C", None), "_cuda_getArchFlags", None)
        listed = ((flags() or "") if flags else "").split()
    return list(listed) or None


def _refusal(torch):
    """Why torch takes no device, in its own words."""
    try:
        torch.cuda.init()
    except Exception as problem:
        return _line(problem)
    return ""


def _line(problem):
    return (str(problem).strip().splitlines() or [""])[0][:300]
