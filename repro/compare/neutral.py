"""Whether a program did the same with and without the recorder, from the pieces of what it wrote.

What already differs between two runs without the recorder says nothing about the recorder: such pieces, or
words of a line, are left out and counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Pieces = Mapping[str, str]
Answer = Literal["equal", "differs", "unknown"]
_TENSOR = "tensor "


@dataclass(frozen=True)
class FileRow:
    """One file: number of pieces compared, names of those that differ, and of those that do not repeat."""

    name: str
    compared: int
    differ: list[str] = field(default_factory=list)
    unrepeatable: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Neutrality:
    """`equal`, `differs`, or `unknown` where nothing could be compared; `why` in a sentence."""

    answer: Answer
    why: str
    files: list[FileRow]


def beside(
    recorded: Mapping[str, Pieces],
    plain: Mapping[str, Pieces],
    again: Mapping[str, Pieces] | None = None,
    *,
    statuses: tuple[int | None, int | None] = (0, 0),
) -> Neutrality:
    """Hold what a recorded run wrote beside what a run without recorder wrote.

    `again` is a second run without recorder, needed where something differs. `statuses`: both exit statuses.
    """
    names = sorted({*recorded, *plain})
    rows = [
        _file(name, recorded.get(name), plain.get(name), (again or {}).get(name) if again else None)
        for name in names
    ]
    answer, why = _answer(rows, statuses, repeated=again is not None)
    return Neutrality(answer, why, rows)


def _answer(
    rows: list[FileRow], statuses: tuple[int | None, int | None], *, repeated: bool
) -> tuple[Answer, str]:
    differ = [row for row in rows if row.differ]
    shaky = [f"{row.name}: {name}" for row in rows for name in row.unrepeatable if name.startswith(_TENSOR)]
    left_out = sum(len(row.unrepeatable) for row in rows)
    if statuses[0] != statuses[1]:
        return "differs", f"exit status {statuses[0]} with the recorder, {statuses[1]} without it"
    if differ:
        other = "" if repeated else "; a second run without the recorder tells whether the program repeats"
        return "differs", f"{', '.join(row.name for row in differ[:5])} are not the same{other}"
    if shaky:
        return "unknown", (
            f"the program does not repeat: two runs without the recorder differ in {len(shaky)} tensors "
            f"({shaky[0]})"
        )
    if not sum(row.compared for row in rows if row.name != "log.txt"):
        return "unknown", "the program left no file to compare: what it printed alone shows too little"
    rest = f"; {left_out} pieces differ between two runs without it too, such as times" if left_out else ""
    return "equal", f"{sum(row.compared for row in rows)} pieces of {len(rows)} files are equal{rest}"


def _file(name: str, recorded: Pieces | None, plain: Pieces | None, again: Pieces | None) -> FileRow:
    x, y = recorded or {}, plain or {}
    keys = list(dict.fromkeys([*y, *x])) or [""]
    differ, shaky, compared = [], [], 0
    for key in keys:
        if x.get(key) == y.get(key) and (recorded is None) == (plain is None):
            compared += key in x
        elif again is not None and again.get(key) != y.get(key):
            shaky.append(key)
            compared += _rest_equal(x.get(key), y.get(key), again.get(key))
            differ += [key] if _other_words(x.get(key), y.get(key), again.get(key)) else []
        else:
            differ.append(key)
    return FileRow(name, compared, differ, shaky)


def _rest_equal(x: str | None, y: str | None, again: str | None) -> bool:
    """Whether words of a line that repeat are there, and equal."""
    words = _words(x, y, again)
    return bool(words) and all(p == q for p, q, r in words if q == r) and any(q == r for _p, q, r in words)


def _other_words(x: str | None, y: str | None, again: str | None) -> bool:
    """Whether a word that repeats without the recorder is another one with it."""
    return any(p != q for p, q, r in _words(x, y, again) if q == r)


def _words(x: str | None, y: str | None, again: str | None) -> list[tuple[str, str, str]]:
    if x is None or y is None or again is None:
        return []
    parts = x.split(), y.split(), again.split()
    return list(zip(*parts, strict=True)) if len({len(part) for part in parts}) == 1 else []
