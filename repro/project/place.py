"""Where in a settings file a key stands, and which known word a mistyped one may mean."""

import difflib
import re
from collections.abc import Iterable

_HEADER = re.compile(r"^\s*\[+\s*(?P<name>[^\]#]+?)\s*\]+\s*(?:#.*)?$")
_KEY = re.compile(
    r"^\s*(?P<name>(?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)


def line_of(text: str, dotted: str) -> int:
    """Line (from 1) at which a dotted key is set, else that of the nearest table around it, else 0.

    The text is scanned, not parsed: a key inside an inline table is found at the line of that table.
    """
    places = _places(text)
    parts = dotted.split(".")
    while parts:
        line = places.get(".".join(parts))
        if line:
            return line
        parts.pop()
    return 0


def _places(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _plain(header["name"])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            name = _plain(key["name"])
            found.setdefault(f"{table}.{name}" if table else name, number)
    return found


def _plain(name: str) -> str:
    return re.sub(r"\s*\.\s*", ".", name).replace('"', "").replace("'", "")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` most likely was meant to be, or empty."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if not close:
        flat = {k.replace("_", "").replace("-", ""): k for k in known}
        close = [v for k, v in flat.items() if k == word.lower().replace("_", "").replace("-", "")]
    return close[0] if close else ""
