"""The one exception that users are meant to see, and the table of its kinds.

The core raises `ReproError`; only `repro.cli` prints it and exits. Exit status
and explanation of every code live in `data/errors/*.toml`, one file a room, so that
`repro explain` and the exit status can never disagree.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

EXIT_YES, EXIT_NO, EXIT_USAGE, EXIT_SURROUNDINGS = 0, 1, 2, 3
EXIT_PROGRAM, EXIT_BUNDLE, EXIT_INCONCLUSIVE, EXIT_INCOMPARABLE = 4, 5, 6, 7
EXIT_BUG, EXIT_INTERRUPTED = 70, 130


@dataclass(frozen=True)
class Kind:
    """One row of the error table: what a code means and which exit status it gives."""

    code: str
    exit: int
    explain: str


@cache
def kinds() -> dict[str, Kind]:
    """Return every known error code with its row."""
    found: dict[str, Kind] = {}
    for table in (files("repro") / "data" / "errors").iterdir():
        rows = tomllib.loads(table.read_text("utf-8"))
        found |= {code: Kind(code, row["exit"], row["explain"].strip()) for code, row in rows.items()}
    return found


class ReproError(Exception):
    """A cause that the user can act on.

    Args:
        code: a key of a table in `data/errors/`, kept for ever.
        message: what cannot be done, about which thing.
        found: what was seen, one fact a line, with value, unit and place.
        needs: what would have been right.
        why: the rule in one line, where it is not obvious.
        done: what was and was not done.
        tries: commands or edits, literal, at most three.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        found: tuple[str, ...] | list[str] | str = (),
        needs: tuple[str, ...] | list[str] | str = (),
        why: str = "",
        done: str = "",
        tries: tuple[str, ...] | list[str] | str = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = _text(message)
        self.found = _lines(found)
        self.needs = _lines(needs)
        self.why = _text(why)
        self.done = _text(done)
        self.tries = _lines(tries)
        self.about: dict[str, object] = {}

    def concerning(self, **about: object) -> "ReproError":
        """This error, with what a script wants to know of the thing it is about: keys of the JSON answer."""
        self.about |= about
        return self

    @property
    def exit_status(self) -> int:
        """Exit status of the process when this error ends it."""
        return kinds()[self.code].exit

    def document(self) -> dict[str, object]:
        """The same fields as an object, for `--json`."""
        return {
            "code": self.code,
            "message": self.message,
            "found": list(self.found),
            "needed": list(self.needs),
            "why": self.why,
            "done": self.done,
            "try": list(self.tries),
            "see": f"repro explain {self.code}",
        }


def _lines(value: tuple[str, ...] | list[str] | str) -> tuple[str, ...]:
    return tuple(map(_text, (value,) if isinstance(value, str) and value else value))


def _text(value: str) -> str:
    """`value` with bytes that are no UTF-8, as names of files may have them, in escapes."""
    return value.encode("utf-8", "backslashreplace").decode()
