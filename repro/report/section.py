"""One part of a report as facts: a table whose columns say what they hold, and sentences.

Text, Markdown and HTML are three ways to write down the same sections in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KINDS = ("text", "word", "key", "value", "number", "why")


@dataclass(frozen=True)
class Column:
    """A column's title and what stands in it.

    `word` has a tone, `key` is a dotted name, `value` may be long and stands beside another one, `number`
    is set flush right, `why` is a sentence about the row.
    """

    title: str
    kind: str = "text"


Row = tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A titled part; `folded` rows are there to be looked up, and `folding` says what they are."""

    key: str
    title: str
    columns: tuple[Column, ...] = ()
    rows: Sequence[Row] = ()
    said: Sequence[str] = ()
    folded: Sequence[Row] = ()
    folding: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.rows or self.said or self.folded)


def columns(*titles: str) -> tuple[Column, ...]:
    """Columns from words like `risk:word`; without a kind it is plain text."""
    return tuple(Column(title, kind or "text") for title, _, kind in (word.partition(":") for word in titles))
