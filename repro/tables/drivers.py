"""Versions of NVIDIA's Linux driver: reading and comparing them."""

import re

# `525`, `R525`, `535.104.05`, with a distribution's suffix as in `535.104.05-0ubuntu1`. Three digits lead
# since 100.14 (2007), so a CUDA version such as `12.2` is not taken for a driver.
_DRIVER = re.compile(r"[Rr]?(\d{3}(?:\.\d{1,4}){0,3})(?:[-+~]\S*)?")


def driver_key(text: str) -> tuple[int, ...] | None:
    """Numbers of a driver version, compared as tuples: (525,) for `R525`; None when it is no version."""
    found = _DRIVER.fullmatch(text.strip()) if text.isascii() else None
    return tuple(int(part) for part in found[1].split(".")) if found else None


def reaches(driver: str, floor: str) -> bool | None:
    """Whether a driver is at least `floor`; None when either is no version, or only the branch is given.

    `525` against `525.60.13` is None: a driver of the branch may be older. `530` reaches it, `515` does not.
    """
    have, need = driver_key(driver), driver_key(floor)
    if have is None or need is None:
        return None
    if len(have) < len(need) and have == need[: len(have)]:
        return None
    return have >= need
