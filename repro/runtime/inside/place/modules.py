"""What the model is made of, in words: class and settings of every module, for the `start` record."""

MOST = 4000
LONGEST = 200


def described(root, prefix, clean):
    """Rows {"name", "class", "says", "train"} of a module and all below it, in order.

    Settings are told of torch's own modules only: what others print may compute, or wait for a device.
    """
    rows = []
    for path, module in root.named_modules():
        if len(rows) >= MOST:
            break
        kind = type(module)
        own = kind.__module__.startswith("torch.nn.")
        rows.append({
            "name": prefix + clean(path),
            "class": kind.__name__,
            "says": _settings(module) if own else "",
            "train": bool(module.training),
        })  # fmt: skip
    return rows


def _settings(module):
    try:
        return module.extra_repr()[:LONGEST]
    except Exception:
        return ""
