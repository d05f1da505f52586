"""For a project without a dependency file: what text and imports suggest, as a proposal only."""

import re

from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, normal
from repro.lock.table import table, torch_releases
from repro.lock.text import read_text
from repro.lock.tree import foreign, project_of, readmes

_WORD = re.compile(r"[A-Za-z][\w-]*")
_VERSION = r"\W{0,3}(?:v|version\s*|[=<>~]+\s*)?(\d+(?:\.\d+)+)"


def propose(got: Gathered) -> None:
    """Note that there is no manifest, with a proposal from the readme and the imports."""
    told = _readme(got)
    found = foreign(got.root)
    guessed = list(dict.fromkeys([*told, *(project_of(m) for m in found)]))
    remedy = "check this guess and write it to requirements.in: " + (
        " ".join(guessed) or "(nothing was recognised)"
    )
    text = (
        "no dependency file (requirements.in or .txt, environment.yml, pyproject.toml, setup.cfg, setup.py)"
    )
    got.find("no-manifest", ".", text, severity=ERROR, remedy=remedy)
    named = {normal(n) for n in told}
    for module, where in found.items():
        if normal(project_of(module)) not in named:
            file, _, line = where.rpartition(":")
            package = f" (package {project_of(module)})" if project_of(module) != module else ""
            got.find("import-only", file, f"{module} is imported and named nowhere{package}", int(line))


def _readme(got: Gathered) -> dict[str, str]:
    words = table("package_names")["words"]
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
    oldest = next(iter(torch_releases()))
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
