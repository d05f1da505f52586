"""Sizes of memory as people write them."""

import re

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*((?:[kmg]i?)?)b?", re.IGNORECASE)


def bytes_of(text: str) -> int | None:
    """Bytes of `40GiB`, `24 gb` or `512MiB`; None when it is no size."""
    found = _SIZE.fullmatch(text.strip())
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else None
