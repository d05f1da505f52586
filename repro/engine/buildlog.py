"""Read the classic builder's message stream: which step runs, and why one failed."""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from repro.engine import failures
from repro.errors import ReproError
from repro.events import Progress, Sink
from repro.redact import text as redacted

_STEP = re.compile(r"^Step (\d+)/(\d+) : (.*)$")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_KEPT_LINES = 20

# What an installer says, and what it means here.
_REASONS = (
    (
        r"DO NOT MATCH THE HASHES",
        "a wheel is not the file that was locked",
        ("repro verify BUNDLE", "repro lock"),
    ),
    (
        r"No matching distribution found|Could not find a version that satisfies",
        "the wheelhouse has no file that fits this Python and this C library",
        ("repro lock", "repro build"),
    ),
    (
        r"has requirement .* but you have|which is not installed",
        "the locked packages contradict one another",
        ("repro lock",),
    ),
    (
        r"Temporary failure resolving|Could not resolve",
        "Debian's package mirror cannot be reached from the build",
        ("repro build",),
    ),
    (
        r"Unable to locate package",
        "a name in `dependencies.system` is no Debian package of the base",
        ("edit `dependencies.system` in repro.toml",),
    ),
    (
        r"No module named '?(venv|ensurepip)|ensurepip is not",
        "the base image has no `venv`",
        ("use a base image that holds python3-venv",),
    ),
)


class BuildLog:
    """Collects a build's messages; `image_id` is the result once the build has ended well."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._instruction = "the first instruction"
        self._partial = ""
        self.image_id = ""
        self.cached_steps = 0

    def read(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Take in all messages, telling the sink about every step.

        Raises:
            image-build-failed: with the failing instruction and its last lines.
            disk-full: the engine's disk has no space left.
        """
        failure: ReproError | None = None
        # Read to the end even after an error: only then does the SDK let go of the connection.
        for message in messages:
            if "error" in message:
                failure = failure or self._failure(str(message["error"]))
            elif "stream" in message:
                self._take(str(message["stream"]))
            elif isinstance(message.get("aux"), dict):
                self.image_id = message["aux"].get("ID", self.image_id)
        if failure is not None:
            raise failure

    def _take(self, piece: str) -> None:
        *whole, self._partial = (self._partial + piece).split("\n")
        for line in whole:
            self._line(_COLOURS.sub("", line).rstrip())

    def _line(self, line: str) -> None:
        if match := _STEP.match(line):
            number, total, self._instruction = int(match[1]), int(match[2]), match[3]
            self._lines.clear()
            self._sink(Progress(f"image: {_short(self._instruction)}", number, total, "steps"))
        elif line.strip() == "---> Using cache":
            self.cached_steps += 1
        elif line and not line.startswith((" --->", "Removing intermediate")):
            self._lines.append(redacted(line))

    def _failure(self, error: str) -> ReproError:
        if self._partial:
            self._take("\n")
        said = "\n".join([*self._lines, error])
        if failures.is_full(said):
            return failures.disk_full(f"building the image, at `{_short(self._instruction)}`", said)
        reason, tries = _reason(said)
        return ReproError(
            "image-build-failed",
            f"the image cannot be built: `{_short(self._instruction)}` failed",
            found=[*self._lines, redacted(error.strip())],
            why=reason,
            done="no image was made; the steps before this one are cached",
            tries=tries,
        )


def _short(instruction: str) -> str:
    line = " ".join(redacted(instruction).split())
    return line if len(line) <= 72 else f"{line[:71]}…"


def _reason(said: str) -> tuple[str, tuple[str, ...]]:
    for pattern, reason, tries in _REASONS:
        if re.search(pattern, said):
            return reason, tries
    return "", ("docker build BUNDLE      (to see the whole log)",)
