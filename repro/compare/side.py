"""One run as the judge takes it: its folder's content and its traces, already read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from repro.model.run import RunFolder
from repro.model.trace import Trace

T = TypeVar("T")


@dataclass(frozen=True)
class Side:
    """A run with one trace for each process that trained."""

    run: RunFolder
    traces: Sequence[Trace] = ()

    @property
    def unfinished(self) -> bool:
        """Whether the run was meant to go on; one that was ended after some steps, as asked, was not."""
        return not self.run.complete and self.run.attempt.status != "limited"

    @property
    def name(self) -> str:
        """Run id, or the folder's name without one; with the label in brackets."""
        attempt = self.run.attempt
        name = attempt.run_id or Path(self.run.path).name
        return f"{name} ({attempt.label})" if attempt.label and attempt.label != name else name


def names(a: Side, b: Side) -> tuple[str, str]:
    """Names that tell two runs apart: the folders where the names are the same."""
    return (a.name, b.name) if a.name != b.name else (a.run.path, b.run.path)


def only_one(a: T, b: T, has: Callable[[T], object]) -> str:
    """Which of two, "a" or "b", alone has something; empty when both or neither has."""
    return {(True, False): "a", (False, True): "b"}.get((bool(has(a)), bool(has(b))), "")
