"""Fills what the settings leave open from the project's usual layout; every guess names its evidence."""

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.project import usual
from repro.project.files import parse
from repro.project.parameters import names_in
from repro.project.pins import spoken_for
from repro.project.program import options, that_train
from repro.project.pythons import stated


@dataclass(frozen=True)
class One:
    """A guessed value; `origin` is `guessed from FILE`, or `default` when nothing speaks for it."""

    key: str
    value: Any
    origin: str


@dataclass
class Found:
    """Guesses made so far, with sentences about them."""

    root: Path
    data: Mapping[str, Any]
    guesses: list[One] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def open(self, key: str) -> bool:
        """Whether the settings leave a dotted key to us."""
        table, _, name = key.rpartition(".")
        return name not in (self.data.get(table, {}) if table else self.data)

    def value(self, key: str) -> Any:
        """The value that is set or guessed, or None."""
        table, _, name = key.rpartition(".")
        given = (self.data.get(table, {}) if table else self.data).get(name)
        return next((g.value for g in self.guesses if g.key == key), given)

    def add(self, key: str, value: Any, evidence: str) -> None:
        """Take a guess."""
        self.guesses.append(One(key, value, f"guessed from {evidence}" if evidence else "default"))


def guess(root: Path, data: Mapping[str, Any]) -> Found:
    """What `data`, a table of settings, leaves open and the layout of `root` answers.

    Raises:
        config-no-command: there is no command and no file that looks like a training script.
    """
    found = Found(root, data)
    for part in (_name, _params, _eval, _command, _requirements, _python, _parameters):
        part(found)
    return found


def _name(found: Found) -> None:
    if found.open("name"):
        folder = found.root.resolve().name
        name = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:64].strip("-")
        found.add("name", name or "project", "the folder's name")


def _params(found: Found) -> None:
    names = [stem + suffix for stem in usual.PARAMS_STEMS for suffix in usual.PARAMS_SUFFIXES]
    _first_file(found, "params.file", [*names, *usual.PARAMS_MORE])


def _first_file(found: Found, key: str, names: list[str]) -> None:
    if not found.open(key):
        return
    present = [n for n in names if (found.root / n).is_file()]
    if present:
        found.add(key, present[0], present[0])
        _note_others(found, key, present)


def _note_others(found: Found, key: str, present: list[str]) -> None:
    if len(present) > 1:
        found.notes.append(f"`{key}` is `{present[0]}`; also there, and not used: {', '.join(present[1:])}")


def _eval(found: Found) -> None:
    if not found.open("eval.path"):
        return
    present = list(
        dict.fromkeys(p for pattern in usual.EVAL_PATTERNS for p in _matching(found.root, pattern))
    )
    if present:
        found.add("eval.path", present[0], present[0])
        _note_others(found, "eval.path", present)


def _matching(root: Path, pattern: str) -> list[str]:
    folder, _, last = pattern.rpartition("/")
    try:
        with os.scandir(root / folder) as entries:
            names = sorted(e.name for e in entries if fnmatch.fnmatchcase(e.name, last))
    except OSError:
        return []
    return [f"{folder}/{n}" if folder else n for n in names if _is_data(root / folder / n)]


def _is_data(path: Path) -> bool:
    if not path.is_dir():
        return path.suffix not in usual.NOT_DATA
    suffixes = _suffixes(path)
    first = next(suffixes, None)
    return first is None or first not in usual.NOT_DATA or any(s not in usual.NOT_DATA for s in suffixes)


def _suffixes(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__"]
        yield from (Path(where, n).suffix for n in names)


def _command(found: Found) -> None:
    if not found.open("code.command"):
        return
    script = _script(found)
    words = ["python", script]
    takes = options(found.root, script)
    for names, placeholder, wanted in (
        (usual.PARAMS_OPTIONS, "{params}", bool(found.value("params.file"))),
        (usual.OUT_OPTIONS, "{out}", True),
        (usual.EVAL_OPTIONS, "{eval}", bool(found.value("eval.path"))),
    ):
        option = next((takes[n] for n in names if n in takes), "") if wanted else ""
        words += [option, placeholder] if option else []
    found.add("code.command", words, script)
    resume = next((takes[n] for n in usual.RESUME_OPTIONS if n in takes), "")
    if resume and found.open("checkpoint.resume"):
        found.add("checkpoint.resume", [resume, "{checkpoint}"], script)


def _script(found: Found) -> str:
    present = [name for name in usual.COMMANDS if (found.root / name).is_file()]
    if present:
        _note_others(found, "code.command", present)
        return present[0]
    alike = sorted(
        {p.name for pattern in usual.COMMAND_PATTERNS for p in found.root.glob(pattern) if p.is_file()}
    )
    if len(alike) == 1:
        return alike[0]
    alike = alike or that_train(found.root)
    example = alike[0] if alike else "YOUR_SCRIPT.py"
    bare = (found.root / "HEAD").is_file() and (found.root / "objects").is_dir()
    raise ReproError(
        "config-no-command",
        f"there is no training command for `{found.root.name}`",
        found=f"may be it: {', '.join(alike)}" if alike else "none of the usual scripts",
        needs="`code.command`, or one of: " + ", ".join(usual.COMMANDS),
        tries=f"git clone {found.root} WORKTREE      (this folder is a bare git repository)"
        if bare
        else f'add to repro.toml:  code.command = ["python", "{example}"]',
    )


def _python(found: Found) -> None:
    if not found.open("dependencies.python"):
        return
    version, evidence = stated(found.root)
    if not version:
        version, evidence = spoken_for(found.root, found.value("dependencies.requirements") or [])
        evidence = evidence if version else ""
    found.add("dependencies.python", version or usual.DEFAULT_PYTHON, evidence)
    if not evidence:
        found.notes.append(
            f"no file says which Python the project needs: {usual.DEFAULT_PYTHON} is taken; "
            'set `dependencies.python` if it is another, e.g. python = "3.8" for an old torch'
        )


def _requirements(found: Found) -> None:
    if not found.open("dependencies.requirements"):
        return
    present = [n for n in usual.REQUIREMENTS if (found.root / n).is_file() and _declares(found.root / n)]
    # A conda file that reads the requirements file says more than that file alone.
    around = [n for n in present if _includes(found.root, n, present[0])]
    present = [*around, *(n for n in present if n not in around)]
    if present:
        found.add("dependencies.requirements", present[:1], present[0])
        _note_others(found, "dependencies.requirements", present)
    else:
        found.notes.append(f"no file lists dependencies; looked for {', '.join(usual.REQUIREMENTS)}")


def _includes(root: Path, name: str, other: str) -> bool:
    """Whether a conda file reads the requirements file that would be taken in its place."""
    if not name.endswith((".yml", ".yaml")):
        return False
    try:
        text = (root / name).read_text("utf-8", "replace")
    except OSError:
        return False
    return bool(re.search(rf"-r\s+{re.escape(other)}\s*$", text, re.MULTILINE))


def _declares(path: Path) -> bool:
    """Whether a file that has other uses as well lists dependencies."""
    if path.name == "setup.cfg":
        return b"install_requires" in path.read_bytes()
    if path.name != "pyproject.toml":
        return True
    try:
        table = parse(path)
    except ReproError:
        return False
    project, tool = (t if isinstance(t, dict) else {} for t in (table.get("project"), table.get("tool")))
    poetry = tool.get("poetry")
    named = "dependencies" in project or "dependencies" in project.get("dynamic", [])
    return named or (isinstance(poetry, dict) and "dependencies" in poetry)


def _parameters(found: Found) -> None:
    file = found.value("params.file")
    if not isinstance(file, str) or not file:
        return
    known = names_in(found.root / file)
    for key, names in usual.PARAMETERS.items():
        name = next((n for wanted in names for n in known if n.rpartition(".")[2] == wanted), "")
        if name and found.open(key):
            found.add(key, name, file)
