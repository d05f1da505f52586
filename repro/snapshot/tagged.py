"""Parameter values that JSON cannot hold, as objects with one key that starts with `$`; and back.

`$float` (nan, inf, -inf), `$int` (beyond 64 bits), `$date`, `$datetime`, `$time`, `$bytes` (base64),
`$set`, and `$map` for a mapping whose keys are not all text, or could be taken for such an object.
"""

import base64
import math
from datetime import date, datetime, time
from typing import Any

_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


def encode(value: Any) -> Any:
    """The value as strict JSON can hold it, types kept.

    Raises:
        TypeError: a value of a type that no parameter file gives.
        UnicodeEncodeError: text with half of a surrogate pair.
    """
    if isinstance(value, str):
        value.encode()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, dict):
        return _encode_map(value)
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return _encode_scalar(value)


def _encode_map(value: dict[Any, Any]) -> dict[str, Any]:
    if all(isinstance(k, str) and not k.startswith("$") for k in value):
        return {k: encode(v) for k, v in value.items()}
    # Sorted as other mappings are, so that the order in the file changes no digest.
    return {
        "$map": sorted(([encode(k), encode(v)] for k, v in value.items()), key=lambda pair: repr(pair[0]))
    }


def _encode_scalar(value: Any) -> Any:
    if isinstance(value, int):
        return value if _SMALLEST <= value <= _LARGEST else {"$int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    for kind, (tag, write, _read) in _TAGS.items():
        if isinstance(value, kind):
            return {tag: write(value)}
    raise TypeError(f"a parameter of type {type(value).__name__}")


def decode(value: Any) -> Any:
    """The value that `encode` was given (tuples come back as lists)."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        tag, inner = next(iter(value.items()))
        if tag in _READERS:
            return _READERS[tag](inner)
    return {k: decode(v) for k, v in value.items()}


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# A datetime is a date as well, so it stands first.
_TAGS: dict[type, tuple[str, Any, Any]] = {
    datetime: ("$datetime", datetime.isoformat, datetime.fromisoformat),
    date: ("$date", date.isoformat, date.fromisoformat),
    time: ("$time", time.isoformat, time.fromisoformat),
    bytes: ("$bytes", lambda b: base64.b64encode(b).decode(), base64.b64decode),
    set: (
        "$set",
        lambda s: sorted((encode(i) for i in s), key=repr),
        lambda s: {_hashable(decode(i)) for i in s},
    ),
}
_READERS: dict[str, Any] = {tag: read for tag, _, read in _TAGS.values()} | {
    "$float": float,
    "$int": int,
    "$map": lambda pairs: {_hashable(decode(k)): decode(v) for k, v in pairs},
}
