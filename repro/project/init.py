"""Writes down what was guessed as a commented `repro.toml`, which reads back as the same settings."""

import json
import os
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from repro.errors import ReproError
from repro.files import raise_if_full
from repro.model.project import Project, Settings
from repro.project.checks import value
from repro.project.decode import keys
from repro.project.files import SETTINGS

# What stands beside a setting in the written file. Settings without a row are written only when they are set.
COMMENTS = {
    "name": "",
    "code.command": "{params}, {out} and {eval} are filled in for each run",
    "dependencies.python": "",
    "dependencies.requirements": "requirements.in or .txt, pyproject.toml, setup.cfg or .py, environment.yml",
    "dependencies.base": "any image that holds this Python; empty: the usual one",
    "dependencies.system": "Debian packages",
    "params.file": "JSON, YAML or TOML",
    "eval.path": "file or folder that travels with the bundle",
    "eval.max_mb": "",
    "eval.metrics": "where the program writes its final numbers, below {out}",
    "eval.rows": "one row an example, below {out}",
    "checkpoint.dir": "",
    "checkpoint.resume": 'words that make the program go on, e.g. ["--resume", "{checkpoint}"]',
    "protocol.precision": "fp32, tf32, bf16, fp16, bf16-autocast, fp16-autocast, fp8, fp64",
    "protocol.seed": "name of the parameter that holds the seed, or a number",
    "protocol.micro_batch": "name of a parameter, or a number",
    "protocol.accumulation": "name of a parameter, or a number",
    "protocol.effective_batch": "",
    "protocol.deterministic": "off, warn, strict",
    "protocol.metric": "the number that decides, e.g. eval_acc",
    "protocol.better": "higher or lower",
    "protocol.margin": "smallest difference that matters, declared before the first run",
    "targets.gpus": 'cards the bundle is meant for, e.g. ["A100-80GB"]',
    "targets.driver": "",
    "targets.memory": 'largest need of the training on one card, e.g. "40GiB"',
}
_EXAMPLES = {
    "protocol.seed": "seed",
    "protocol.micro_batch": "batch_size",
    "protocol.accumulation": 1,
    "protocol.effective_batch": 64,
    "protocol.margin": 0.01,
}


@dataclass(frozen=True)
class Guess:
    """A setting that was guessed: dotted key, value, and the file that speaks for it."""

    key: str
    value: Any
    evidence: str


def guesses(project: Project) -> list[Guess]:
    """What was guessed for the project, in the order of the settings file."""
    mark = "guessed from "
    return [
        Guess(key, value(project.settings, key), origin.removeprefix(mark))
        for key in keys()
        if (origin := project.origin(key)).startswith(mark)
    ]


def write(project: Project) -> Path:
    """Path of the `repro.toml` that now holds the project's settings.

    Raises:
        config-exists: the project has settings already; nothing was changed.
    """
    path = Path(project.root) / SETTINGS
    if project.file or path.exists() or path.is_symlink():
        raise _exists(project.file or SETTINGS)
    text = render(project)
    if msgspec.convert(tomllib.loads(text), Settings) != project.settings:
        raise AssertionError(f"the written settings do not read back:\n{text}")
    _create(path, text.encode())
    return path


def _exists(name: str) -> ReproError:
    return ReproError(
        "config-exists",
        f"the project has settings in `{name}` already",
        found=name,
        needs="a project without settings",
        done="nothing was changed",
        tries=[f"edit `{name}`", f"rename it to start anew: mv {name} {name}.old"],
    )


def _create(path: Path, data: bytes) -> None:
    """Make a whole new file or none; a link, unlike a rename, never replaces one."""
    fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
        Path(name).chmod(0o644)
        os.link(name, path)
    except FileExistsError:
        raise _exists(path.name) from None
    except OSError as problem:
        raise_if_full(problem, path)
        raise
    finally:
        Path(name).unlink()


def render(project: Project) -> str:
    """Text of a `repro.toml` for the project."""
    lines = ["schema = 1"]
    table = ""
    for key in keys():
        section, _, name = key.rpartition(".")
        if key == "schema" or not (line := _line(project, key, name)):
            continue
        if section != table:
            lines += ["", f"[{section}]"]
            table = section
        lines.append(line)
    return "\n".join(lines) + "\n"


def _line(project: Project, key: str, name: str) -> str:
    current, unset = value(project.settings, key), value(Settings(), key)
    origin = project.origin(key)
    comment = origin if origin.startswith("guessed") else COMMENTS.get(key, "")
    tail = f"  # {comment}" if comment else ""
    if current != unset:
        return f"{name} = {_toml(current)}{tail}"
    example = _EXAMPLES.get(key, unset)
    return f"# {name} = {_toml(example)}{tail}" if key in COMMENTS else ""


def _toml(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, list):
        return "[" + ", ".join(_toml(i) for i in item) + "]"
    if isinstance(item, dict):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in item.items()) + "}"
    return _text(item) if isinstance(item, str) else repr(item)


def _text(item: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped as well.
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
