"""Writes TOML, which the standard library only reads: enough for the values of a parameter file."""

import json
import re
from datetime import date, datetime, time
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump(values: dict[str, Any]) -> str:
    """TOML text that reads back as `values`."""
    return "\n".join(_table(values, ())) + "\n"


def _table(values: dict[str, Any], at: tuple[str, ...]) -> list[str]:
    plain = {k: v for k, v in values.items() if not isinstance(v, dict)}
    lines = [f"[{'.'.join(map(_key, at))}]"] if at else []
    lines += [f"{_key(k)} = {_value(v)}" for k, v in plain.items()]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _table(value, (*at, key))
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped as well.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    return value.isoformat() if isinstance(value, (date, datetime, time)) else repr(value)
