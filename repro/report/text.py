"""A verdict as plain text, complete without colour."""

from collections.abc import Sequence

from repro.model.curves import Curves
from repro.model.verdict import Verdict
from repro.report import head, lay, values
from repro.report.lay import Paint
from repro.report.section import Column, Row, Section
from repro.report.sections import sections
from repro.report.words import tone

_LEAST_ROOM = 8
_GAP = 2
_UNDER = 10


def text(verdict: Verdict, curves: Curves | None = None, *, width: int = 80, colour: bool = False) -> str:
    """The verdict for a terminal of `width` columns, ending with a newline.

    The word stands on top, then both questions, where the runs part and why, what to do next, and the
    parts of `sections` in their order.
    """
    paint = Paint(colour)
    width = max(width, 40)
    parts = [
        _top(verdict, paint),
        _replies(verdict, width, paint),
        _facts(verdict, width),
        *(_section(section, width, paint) for section in sections(verdict, curves)),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _top(verdict: Verdict, paint: Paint) -> list[str]:
    word = paint(tone(verdict.verdict), verdict.verdict)
    a, b = values.printable(verdict.a), values.printable(verdict.b)
    return [f"{word}: {head.meaning(verdict)}", f"  a  {a}", f"  b  {b}"]


def _replies(verdict: Verdict, width: int, paint: Paint) -> list[str]:
    lines = []
    for reply in head.replies(verdict):
        first, *rest = lay.field(reply.name, f"{reply.word} ({reply.basis})", width)
        lines += [first.replace(reply.word, paint(tone(reply.word), reply.word), 1), *rest]
    return lines


def _facts(verdict: Verdict, width: int) -> list[str]:
    lines = []
    for fact in head.facts(verdict):
        words = values.printable(fact.words)
        lines += [f"{' ' * 12}{words}"] if fact.code else lay.field(fact.name, words, width)
    return lines


def _section(section: Section, width: int, paint: Paint) -> list[str]:
    lines = [paint("strong", f"{section.title}:")]
    rows = [tuple(values.printable(cell) for cell in row) for row in section.rows]
    lines += _table(section.columns, rows, width, paint) if rows else []
    lines += lay.points([values.printable(sentence) for sentence in section.said], width)
    return lines + (lay.points([section.folding], width) if section.folded else [])


def _table(columns: Sequence[Column], rows: Sequence[Row], width: int, paint: Paint) -> list[str]:
    """Aligned columns; values are cut where they part, and a `why` stands below its row.

    What is still too wide stands one row below the other, each cell with its title.
    """
    kept = [place for place, column in enumerate(columns) if column.kind != "why"]
    title = ["" if columns[place].kind == "key" else columns[place].title for place in kept]
    room = _room(columns, rows, width)
    cells = [_cut(columns, row, room) for row in rows]
    right = [at for at, place in enumerate(kept) if columns[place].kind == "number"]
    first, *lines = lay.columns([title, *([row[place] for place in kept] for row in cells)], right=right)
    if max(map(len, (first, *lines))) > width:
        return [line for row in rows for line in _stacked(columns, row, width, paint)]
    told = [first]
    for row, line in zip(rows, lines, strict=True):
        told.append(_toned(columns, row, line, paint))
        told += [paint("faint", said) for said in _why(columns, row, width)]
    return told


def _stacked(columns: Sequence[Column], row: Row, width: int, paint: Paint) -> list[str]:
    cells = list(zip(columns, row, strict=True))
    name = "  ".join(cell for column, cell in cells if column.kind in ("word", "key"))
    rest = [f"{column.title}: {cell}" for column, cell in cells if column.kind not in ("word", "key", "why")]
    known = "; ".join(words for words in rest if not words.endswith(" -"))
    indent = " " * _UNDER
    first = _toned(columns, row, f"  {name}", paint)
    return [first, *lay.wrapped(known, width, indent, indent), *_why(columns, row, width)]


def _room(columns: Sequence[Column], rows: Sequence[Row], width: int) -> int:
    """Columns that each of the values has, so that a row keeps within the width."""
    places = [place for place, column in enumerate(columns) if column.kind == "value"]
    others = [place for place, column in enumerate(columns) if column.kind not in ("value", "why")]
    used = sum(max(len(columns[place].title), *(len(row[place]) for row in rows)) + _GAP for place in others)
    return max((width - used - _GAP * (len(places) + 1)) // max(len(places), 1), _LEAST_ROOM)


def _cut(columns: Sequence[Column], row: Row, room: int) -> list[str]:
    cells = list(row)
    places = [place for place, column in enumerate(columns) if column.kind == "value"]
    if places:
        a, b = places
        cells[a], cells[b] = lay.apart(row[a], row[b], room)
    return cells


def _toned(columns: Sequence[Column], row: Row, line: str, paint: Paint) -> str:
    words = [cell for column, cell in zip(columns, row, strict=True) if column.kind == "word"]
    return line.replace(words[0], paint(tone(words[0]), words[0]), 1) if words else line


def _why(columns: Sequence[Column], row: Row, width: int) -> list[str]:
    said = [cell for column, cell in zip(columns, row, strict=True) if column.kind == "why" and cell]
    indent = " " * _UNDER
    return [line for words in said for line in lay.wrapped(words, width, indent, indent)]
