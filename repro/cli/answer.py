"""How a command answers: JSON or text on standard output, the rest on standard error."""

import shutil
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from repro.console import Console


def print_json(document: Any) -> None:
    """Print one document, indented, keys in the order given."""
    try:
        data = msgspec.json.encode(document)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_readable(msgspec.to_builtins(document)))
    sys.stdout.write(msgspec.json.format(data, indent=2).decode() + "\n")
    sys.stdout.flush()


def _readable(value: Any) -> Any:
    """The same with text that is no UTF-8, such as a path's, in escapes: JSON has no other way to hold it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value


_NARROWEST, _WIDEST = 40, 100


class Answer:
    """What the shared options of every command ask for."""

    def __init__(self, *, as_json: bool, quiet: bool, verbose: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.verbose = verbose
        self.console = Console(quiet=quiet, output=verbose)

    @property
    def colour(self) -> bool:
        """Whether the answer gets colours: it goes elsewhere than progress does, so a pipe gets none."""
        return Console(sys.stdout).colour

    @property
    def width(self) -> int:
        """Columns for the answer: those of the terminal, at most 100; 100 where there is none."""
        if not sys.stdout.isatty():
            return _WIDEST
        columns = shutil.get_terminal_size((_WIDEST, 24)).columns
        return min(max(columns, _NARROWEST), _WIDEST)

    def give(self, command: str, document: dict[str, Any], text: str | Callable[[], str]) -> None:
        """Print the document with `--json`, else the text."""
        if self.as_json:
            print_json({"schema": 1, "command": command, **document})
        else:
            print(text() if callable(text) else text)
