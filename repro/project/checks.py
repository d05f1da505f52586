"""What types cannot say about settings: placeholders, paths, margins, names of parameters."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from repro.errors import ReproError
from repro.model.project import Settings
from repro.model.sizes import bytes_of
from repro.project.place import nearest

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")
_PYTHON = re.compile(r"3\.\d{1,2}")

ALLOWED = {
    "code.command": ("params", "out", "eval"),
    "eval.command": ("params", "out", "eval", "checkpoint"),
    "checkpoint.resume": ("checkpoint", "params", "out", "eval"),
}
INSIDE_PROJECT = ("params.file", "eval.path", "dependencies.requirements", "dependencies.constraints")
INSIDE_OUT = ("eval.metrics", "eval.rows")

Place = Callable[[str], str]


def check(settings: Settings, place: Place) -> None:
    """Return when the settings make sense.

    Raises:
        config-value: with the place (`place` maps a dotted setting to it), what was found and what is needed.
    """
    for one in (_command, _placeholders, _paths, _out_paths, _margins, _numbers, _words, _targets):
        one(settings, place)


def value(settings: Settings, dotted: str) -> Any:
    """The value of a dotted setting."""
    found: Any = settings
    for part in dotted.split("."):
        found = getattr(found, part)
    return found


def _wrong(key: str, place: Place, message: str, found: str, needs: str, tries: str = "") -> ReproError:
    return ReproError(
        "config-value", f"{place(key)}: `{key}` {message}", found=found, needs=needs, tries=tries
    )


def _command(settings: Settings, place: Place) -> None:
    command = settings.code.command
    if not command or not command[0].strip():
        line = 'command = ["python", "train.py"]'
        raise _wrong(
            "code.command", place, "is empty", repr(command), "the training command, word by word", line
        )


def _placeholders(settings: Settings, place: Place) -> None:
    sources = {"params": settings.params.file, "eval": settings.eval.path}
    for key, allowed in ALLOWED.items():
        for word in value(settings, key):
            for name in _PLACEHOLDER.findall(word):
                if name not in allowed:
                    raise _unknown_placeholder(key, name, allowed, place)
                if not sources.get(name, "yes"):
                    setting = "params.file" if name == "params" else "eval.path"
                    raise _wrong(
                        key, place, f"uses {{{name}}} but `{setting}` is not set", word, f"`{setting}`"
                    )


def _unknown_placeholder(key: str, name: str, allowed: tuple[str, ...], place: Place) -> ReproError:
    guess = nearest(name, allowed)
    needs = "one of: " + ", ".join(f"{{{a}}}" for a in allowed)
    tries = f"write {{{guess}}}" if guess else ""
    if name == "checkpoint":
        tries = 'put it in [checkpoint]: resume = ["--resume", "{checkpoint}"]'
    return _wrong(key, place, f"has an unknown placeholder {{{name}}}", f"{{{name}}}", needs, tries)


def _paths(settings: Settings, place: Place) -> None:
    for key in INSIDE_PROJECT:
        given = value(settings, key)
        for path in [given] if isinstance(given, str) else given:
            if path and leaves(path):
                needs = "a path relative to the project's folder, inside it"
                raise _wrong(key, place, "points outside the project", path, needs)


def leaves(path: str) -> bool:
    """Whether a path is absolute, of another system, or climbs out of the folder it starts in."""
    depth = 0
    for part in PurePosixPath(path).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return path.startswith(("/", "~")) or "\\" in path or bool(re.match(r"[A-Za-z]:", path))


def _out_paths(settings: Settings, place: Place) -> None:
    for key in INSIDE_OUT:
        path = value(settings, key)
        if path and leaves(path.removeprefix("{out}/")):
            raise _wrong(key, place, "points outside the output folder", path, "a path relative to {out}")
    folder = settings.checkpoint.dir
    if not folder or leaves(folder.removeprefix("{out}/")):
        needs = "{out}, a folder below it, or a folder below the working folder"
        raise _wrong("checkpoint.dir", place, "is no folder of the run", folder, needs)


def _margins(settings: Settings, place: Place) -> None:
    protocol = settings.protocol
    given = [("protocol.margin", "", protocol.margin)]
    given += [("protocol.margins", f" for `{name}`", margin) for name, margin in protocol.margins.items()]
    for key, whose, margin in given:
        if margin is not None and not 0 <= margin < float("inf"):
            raise _wrong(key, place, f"is no size{whose}", str(margin), "a number that is 0 or more")
    for key in ("protocol.margin", "protocol.target"):
        if value(settings, key) is not None and not protocol.metric:
            needs = f"protocol.metric, the name of the metric that the {key.rpartition('.')[2]} is for"
            raise _wrong(key, place, "is given without a metric", str(value(settings, key)), needs)
    if protocol.metric and protocol.metric in protocol.margins:
        needs = "further metrics: the margin of `protocol.metric` is `protocol.margin`"
        raise _wrong("protocol.margins", place, "has the metric itself", protocol.metric, needs)
    if protocol.target is not None and not abs(protocol.target) < float("inf"):
        raise _wrong("protocol.target", place, "is no number", str(protocol.target), "a finite number")


def _numbers(settings: Settings, place: Place) -> None:
    protocol = settings.protocol
    for key in ("eval.max_mb", "eval.max_files"):
        if not value(settings, key) > 0:
            raise _wrong(key, place, "lets nothing through", str(value(settings, key)), "a number above 0")
    if protocol.effective_batch is not None and protocol.effective_batch < 1:
        found = str(protocol.effective_batch)
        raise _wrong("protocol.effective_batch", place, "is no batch size", found, "a whole number above 0")


def _words(settings: Settings, place: Place) -> None:
    if not _NAME.fullmatch(settings.name) or len(settings.name) > 64:
        needs = "up to 64 small letters, digits and single . _ - between them"
        raise _wrong("name", place, "cannot name a folder and an image", settings.name, needs)
    python = settings.dependencies.python
    if not _PYTHON.fullmatch(python):
        needs = "a version such as 3.11, without the patch level"
        raise _wrong("dependencies.python", place, "is no Python version", python, needs, 'python = "3.11"')
    for name, pattern in settings.eval.log.items():
        found = f"{name} = {pattern!r}"
        if problem := _pattern_problem(pattern):
            needs = "a regular expression with a group around the number"
            raise _wrong("eval.log", place, problem, found, needs, r"acc = 'accuracy: ([\d.]+)'")


def _targets(settings: Settings, place: Place) -> None:
    """A card that no table has is left to the check: the table may be older than the card."""
    targets = settings.targets
    if not all(gpu.strip() for gpu in targets.gpus):
        needs = "names of cards, as `repro gpus` lists them"
        raise _wrong("targets.gpus", place, "holds an empty name", repr(targets.gpus), needs)
    if targets.memory and bytes_of(targets.memory) is None:
        needs = "a size such as 40GiB or 24GB"
        raise _wrong("targets.memory", place, "is no size", targets.memory, needs)
    if not targets.driver:
        return
    from repro.tables.drivers import driver_key

    if driver_key(targets.driver) is None:
        needs = "a version such as 535.104.05, or a branch such as 535"
        tries = "nvidia-smi --query-gpu=driver_version --format=csv,noheader"
        raise _wrong("targets.driver", place, "is no driver version", targets.driver, needs, tries)


def _pattern_problem(pattern: str) -> str:
    try:
        return "" if re.compile(pattern).groups else "has no group"
    except re.error as problem:
        return f"has no regular expression: {problem}"
