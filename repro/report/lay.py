"""Lays out plain text: columns, wrapped sentences, colour that can be left out."""

import textwrap
from collections.abc import Sequence

_CODES = {"good": "32", "bad": "31", "open": "33", "strong": "1", "faint": "2"}
INDENT = "  "
FIELD = 10


class Paint:
    """Colours words by tone; without colour it returns them as they are."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, tone: str, words: str) -> str:
        """`words` in the colour of a tone: good, bad, open, strong or faint."""
        return f"\x1b[{_CODES[tone]}m{words}\x1b[0m" if self._colour and words else words


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), gap: int = 2) -> list[str]:
    """Rows as lines with aligned columns, indented; `right` names columns that are set flush right."""
    if not rows:
        return []
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(INDENT + (" " * gap).join(cells).rstrip())
    return lines


def field(name: str, words: str, width: int) -> list[str]:
    """A named sentence, wrapped under itself."""
    return wrapped(words, width, INDENT + name.ljust(FIELD), INDENT + " " * FIELD)


def points(sentences: Sequence[str], width: int) -> list[str]:
    """One dash a sentence, wrapped under itself."""
    return [line for sentence in sentences for line in wrapped(sentence, width, "  - ", "    ")]


def wrapped(words: str, width: int, first: str, rest: str) -> list[str]:
    """Lines of at most `width` columns; a long word is not broken, so that it can be copied."""
    return textwrap.wrap(
        words,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def apart(a: str, b: str, width: int) -> tuple[str, str]:
    """Two differing texts cut to `width` so that the place where they part is seen."""
    if max(len(a), len(b)) <= width:
        return a, b
    common = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    begin = max(common - width // 3, 0)
    return _from(a, begin, width), _from(b, begin, width)


def _from(words: str, begin: int, width: int) -> str:
    cut = f"…{words[begin + 1 :]}" if begin else words
    return cut if len(cut) <= width else f"{cut[: width - 1]}…"
