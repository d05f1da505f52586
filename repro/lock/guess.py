"""For a project without a dependency file: what text and imports suggest, as a proposal only."""

import re
from collections.abc import Sequence

from repro.lock.imports import foreign, project_of, reached
from repro.lock.installs import UNREAD, other_manifests, read_commands
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Requirement, normal
from repro.lock.table import known
from repro.lock.text import read_text
from repro.lock.tree import readmes
from repro.tables.torchbuilds import releases

# Modules that many projects bring a part of.
_SHARED = ("google", "azure", "nvidia", "backports")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_VERSION = r"\W{0,3}(?:v|version\s*|[=<>~]+\s*)?(\d+(?:\.\d+)+)"


def propose(got: Gathered) -> None:
    """Note that there is no manifest, with a proposal from install commands, the readme and the imports."""
    installed = read_commands(got)
    told = _readme(got)
    found = foreign(got.root)
    names = {normal(re.split(r"[\[<>=!~ ]", text)[0]): text for text in installed}
    for name in [*told, *(project_of(m) for m in found)]:
        names.setdefault(normal(name), name)
    remedy = "check this guess and write it to requirements.in: " + (
        " ".join(names.values()) or "(nothing was recognised)"
    )
    others = other_manifests(got.root)
    if others:
        remedy = (
            f'if `{others[0]}` is it: dependencies.requirements = ["{others[0]}"] in repro.toml; or {remedy}'
        )
    kinds = "requirements.in or .txt, environment.yml, Pipfile, pyproject.toml, setup.cfg, setup.py"
    text = f"no dependency file ({kinds})"
    text += f"; may be one: {', '.join(others)}" if others else ""
    unread = [n for n in UNREAD if (got.root / n).is_file()]
    text += f"; {', '.join(unread)} cannot be read" if unread else ""
    got.find("no-manifest", ".", text, severity=ERROR, remedy=remedy)
    named = {normal(n) for n in told} | {normal(re.split(r"[\[<>=!~ ]", n)[0]) for n in installed}
    _unnamed(got, {m: w for m, w in found.items() if normal(project_of(m)) not in named})


def _unnamed(got: Gathered, found: dict[str, str]) -> None:
    for module, where in found.items():
        file, _, line = where.rpartition(":")
        package = f" (package {project_of(module)})" if project_of(module) != module else ""
        got.find("import-only", file, f"{module} is imported and named nowhere{package}", int(line))


def judge_imports(got: Gathered, requirements: list[Requirement], command: Sequence[str]) -> None:
    """Note imports that no requirement answers, and that nothing at all is asked for.

    What is imported may well come along with another package; only the resolution can tell.
    """
    files = frozenset(reached(got.root, command))
    missing = {
        module: where
        for module, where in foreign(got.root, files).items()
        if not _is_named(module, requirements) and (files or not _is_aside(where))
    }
    if not requirements:
        if missing and not any(f.severity == ERROR for f in got.findings):
            guessed = " ".join(dict.fromkeys(project_of(m) for m in missing))
            text = (
                f"asks for nothing, while {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} imported"
            )
            remedy = f"check this guess and write it there: {guessed}"
            got.find("no-dependencies", next(iter(got.inputs), "."), text, severity=ERROR, remedy=remedy)
        return
    _unnamed(got, missing)


def _is_named(module: str, requirements: list[Requirement]) -> bool:
    names = {normal(module), normal(project_of(module))}
    for r in requirements:
        address = re.findall(r"[\w.-]+", r.url or r.path)
        if r.name in names or any(normal(word.removesuffix(".git")) in names for word in address):
            return True
        if any(r.name in (f"py{n}", f"python-{n}", f"{n}-python") for n in names):
            return True
        if module in _SHARED and r.name.startswith(f"{module}-"):
            return True
    return False


def _is_aside(where: str) -> bool:
    return bool(
        re.search(r"(?:^|/)(?:tests?|docs?|examples?|demo|notebooks?|benchmarks?)/|(?:^|/)test_", where)
    )


def _readme(got: Gathered) -> dict[str, str]:
    words = known("words")
    told: dict[str, str] = {}
    for path in readmes(got.root):
        for number, line in enumerate(read_text(path).split("\n"), 1):
            found = {
                words[w.lower()]: _version_after(line, w) for w in _WORD.findall(line) if w.lower() in words
            }
            if found and not line.startswith("#"):
                told |= found
                shown = ", ".join(f"{n} {v}".strip() for n, v in found.items())
                text = f"names {shown}{_age(found)}"
                got.find("readme-hint", path.name, text, number, remedy="a hint, not a pin")
    return told


def _version_after(line: str, word: str) -> str:
    found = re.search(re.escape(word) + _VERSION, line)
    return found.group(1) if found else ""


def _age(found: dict[str, str]) -> str:
    version = found.get("torch", "")
    if not version:
        return ""
    oldest = next(iter(releases()))
    try:
        old = tuple(map(int, version.split(".")[:2])) < (1, 8)
    except ValueError:
        return ""
    known = (
        "" if version.startswith(oldest) or not old else "; that torch has no code for Ampere or newer cards"
    )
    return f"{known}; the torch of today is another thing"


def date_hints(got: Gathered) -> None:
    """Note a year that the readme names, when torch is not pinned."""
    for path in readmes(got.root):
        for number, line in enumerate(read_text(path).split("\n"), 1):
            year = re.search(r"\b(201[5-9]|202\d)\b", line)
            if year and re.search(
                r"paper|tested|code|release|spring|summer|autumn|winter|20\d\d", line, re.IGNORECASE
            ):
                text = f"text says {year.group(1)}; the newest torch of today is not the one of then"
                remedy = "pin torch to a release of that time; the lock alone does not reproduce it"
                got.find("date-hint", path.name, text, number, remedy=remedy)
                return
