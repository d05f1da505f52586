"""Dependency files as people write them: any byte order mark, any line ending, continued lines."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MARKS = [
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32 with byte order mark"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32 with byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16 with byte order mark"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16 with byte order mark"),
]
_COMMENT = re.compile(r"(^|\s+)#.*$")


@dataclass(frozen=True)
class Text:
    """Decoded content; `oddity` says what is unusual about the bytes, empty when nothing is."""

    content: str
    oddity: str = ""


@dataclass(frozen=True)
class Line:
    """A logical line: comment removed, continuations joined; `number` is its first physical line."""

    number: int
    last: int
    text: str


def decode(data: bytes) -> Text:
    """Text of a dependency file; bytes that are no UTF-8 are read as Latin-1, and that is said."""
    for mark, name, oddity in _MARKS:
        if data.startswith(mark):
            body = data[len(mark) :] if name == "utf-8" else data
            return Text(_plain(body.decode(name, "replace")), oddity + _ending(body.decode(name, "replace")))
    if name := _wide(data[:200]):
        return Text(_plain(data.decode(name, "replace")), "UTF-16 without byte order mark")
    try:
        return Text(_plain(data.decode("utf-8")))
    except UnicodeDecodeError:
        return Text(_plain(data.decode("latin-1")), "not UTF-8; read as Latin-1")


def _wide(start: bytes) -> str:
    """The kind of UTF-16 that ASCII text was written in; empty when zero bytes do not alternate."""
    for name, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if zeros and 2 * zeros.count(0) > len(zeros):
            return name
    return ""


def read_text(path: Path) -> str:
    """Decoded content of a file, whatever its encoding."""
    return decode(path.read_bytes()).content


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _ending(text: str) -> str:
    return " and CRLF line ends" if "\r\n" in text else ""


def logical_lines(content: str) -> Iterator[Line]:
    """Lines as pip joins them: a trailing backslash continues, a comment line ends a continuation."""
    start, parts = 0, []
    for number, raw in enumerate(content.split("\n"), 1):
        start = start or number
        is_comment = raw.lstrip().startswith("#")
        if raw.endswith("\\") and not is_comment:
            parts.append(raw[:-1].strip())
            continue
        parts.append("" if is_comment else raw.strip())
        text = _COMMENT.sub("", " ".join(parts)).strip()
        if text:
            yield Line(start, number, text)
        start, parts = 0, []
    text = _COMMENT.sub("", " ".join(parts)).strip()
    if text:
        yield Line(start, start + len(parts) - 1, text)


def line_of(content: str, pattern: str, start: int = 1) -> int:
    """Number of the first line from `start` on that matches, or 0."""
    for number, line in enumerate(content.split("\n"), 1):
        if number >= start and re.search(pattern, line):
            return number
    return 0
