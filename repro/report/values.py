"""Numbers and values as people read them."""

import math
import re
from collections.abc import Sequence
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


def printable(words: str) -> str:
    """The words without characters that would command a terminal."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", words)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names with commas; of many only the first ones and how many more."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def number_of(value: float | None) -> str:
    """A number to six digits, `-` when it is missing."""
    return "-" if value is None else f"{value:.6g}"


def chance(value: float | None) -> str:
    """A probability to two digits, as `p = 0.011`; tiny ones as a bound."""
    return "-" if value is None else "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def ratio(value: float | None) -> str:
    """A ratio such as `0.8 x` or `4500 x`."""
    return "-" if value is None else f"{value:.0f} x" if value >= 100 else f"{value:.2g} x"


def share(value: float | None) -> str:
    """A part of the whole in percent, two digits; `-` when it is unknown."""
    return "-" if value is None else f"{100 * value:.2g} %"


def short_time(value: float | None) -> str:
    """A step's time: `830 us`, `12.4 ms`, `1.3 s`; `-` when it is unknown."""
    if value is None:
        return "-"
    for unit, size_ in (("s", 1.0), ("ms", 1e-3)):
        if value >= size_:
            return f"{value / size_:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"
