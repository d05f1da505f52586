"""A verdict as Markdown, for an issue, a pull request or a lab book."""

import re
from collections.abc import Callable, Sequence

from repro.model.curves import Curves
from repro.model.verdict import Verdict
from repro.report import head
from repro.report.section import Column, Row, Section
from repro.report.sections import sections

_NAMES = {"first": "First difference", "but also": "Not proven, these differ as well"}


def markdown(verdict: Verdict, curves: Curves | None = None) -> str:
    """The verdict as GitHub-flavoured Markdown, ending with a newline."""
    parts = [
        f"## {verdict.verdict}: {head.meaning(verdict)}",
        _lines(("", "run"), [("a", _safe(verdict.a)), ("b", _safe(verdict.b))]),
        _lines(("question", "answer", "by"), [_reply(reply) for reply in head.replies(verdict)]),
        _facts(verdict),
        *(_section(section) for section in sections(verdict, curves)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reply(reply: head.Reply) -> Row:
    return reply.question, f"**{reply.word}**", _safe(reply.basis)


def _facts(verdict: Verdict) -> str:
    lines = []
    for fact in head.facts(verdict):
        name = _NAMES.get(fact.name, fact.name.capitalize())
        lines.append(f"- {_code(fact.words)}" if fact.code else f"- **{name}:** {_safe(fact.words)}")
    return "\n".join(lines)


def _section(section: Section) -> str:
    parts = [
        f"### {section.title.capitalize()}",
        _table(section.columns, section.rows),
        _points(section.said),
        _folded(section),
    ]
    return "\n\n".join(part for part in parts if part)


def _folded(section: Section) -> str:
    if not section.folded:
        return ""
    table = _table(section.columns, section.folded)
    return f"<details><summary>{_safe(section.folding)}</summary>\n\n{table}\n\n</details>"


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    styled = [[_HOW.get(column.kind, _safe)(cell) for column, cell in _cells(columns, row)] for row in rows]
    return _lines([column.title for column in columns], styled)


def _cells(columns: Sequence[Column], row: Row) -> list[tuple[Column, str]]:
    return list(zip(columns, row, strict=True))


def _points(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {_safe(sentence)}" for sentence in sentences)


def _lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


def _safe(words: str) -> str:
    """Text that cannot open a tag, a link or a new line; what stands in backticks stays code."""
    parts = re.split(r"(`[^`\n]+`)", _flat(words))
    return "".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(words: str) -> str:
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*\[\]])", r"\\\1", words)


def _code(words: str) -> str:
    """A code span that holds backticks too: a fence that is longer than any run of them inside."""
    fence = "`"
    while fence in words:
        fence += "`"
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{fence}{pad}{_flat(words)}{pad}{fence}"


def _flat(words: str) -> str:
    return " ".join(words.split())


def _key(words: str) -> str:
    """A name as code; one with signs that a table reads in its own way as text."""
    return _safe(words) if set("|\\`") & set(words) else _code(words)


_HOW: dict[str, Callable[[str], str]] = {"key": _key}
