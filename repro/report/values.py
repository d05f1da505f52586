"""Numbers and values as people read them."""

import math
from typing import Any

from repro.model.number import from_text

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def shown(value: Any, key: str = "") -> str:
    """A value of a parameter or condition; None is a variable that is not set, or was not recorded."""
    if value is None:
        return "not set" if key.startswith(("env.", "environment.")) else "not recorded"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == "":
        return '""'
    return " ".join(str(value).split())


def number(text: str) -> str:
    """A float.hex() text to six digits; `-` when it is missing."""
    return f"{from_text(text):.6g}" if text else "-"


def signed(text: str) -> str:
    """A difference to three digits with its sign; `0` when both are equal in every bit."""
    if not text:
        return "-"
    value = from_text(text)
    return "0" if value == 0 else f"{value:+.3g}"


def size(value: float | None) -> str:
    """A difference's size to two digits; `-` where it has no meaning."""
    return "-" if value is None else f"{value:.2g}"


def plain(text: str) -> float | str | None:
    """A float.hex() text as a JSON number; text where JSON has no such number; None when missing."""
    if not text:
        return None
    value = from_text(text)
    return value if math.isfinite(value) else str(value)


def bytes_(count: int | None) -> str:
    """A count of bytes in a unit of 1024; `-` when it is unknown."""
    if count is None:
        return "-"
    value, place = float(count), 0
    while value >= 1024 and place < len(_UNITS) - 1:
        value, place = value / 1024, place + 1
    return f"{count} B" if place == 0 else f"{value:.1f} {_UNITS[place]}"


def seconds(value: float) -> str:
    """A duration: `4.2 s`, `12 min 05 s`, `3 h 20 min`."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
