"""What the program printed of its metrics while it trained, by the patterns that the project declared."""

import re
from pathlib import Path

from repro.model.number import to_text
from repro.model.record import Json

_LONGEST_LINE = 1 << 20


def read_history(path: Path, protocol: Json) -> dict[str, list[str]]:
    """For each pattern of `eval.log` all numbers that it matched in the output, in order, float.hex() text.

    Only for a protocol that declares a target: nothing else asks for them. A match that is no number is
    passed over.
    """
    table, patterns = protocol.get("protocol"), protocol.get("log")
    if not isinstance(table, dict) or table.get("target") is None or not isinstance(patterns, dict):
        return {}
    if not path.is_file():
        return {}
    compiled = {name: re.compile(text) for name, text in patterns.items() if _usable(text)}
    found: dict[str, list[str]] = {name: [] for name in compiled}
    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(_LONGEST_LINE):
            for name, pattern in compiled.items():
                found[name] += [text for match in pattern.finditer(line) if (text := _hex(match[1]))]
    return found


def _usable(text: object) -> bool:
    try:
        return isinstance(text, str) and re.compile(text).groups > 0
    except re.error:
        return False


def _hex(text: str | None) -> str:
    try:
        return to_text(float(text or ""))
    except ValueError:
        return ""
