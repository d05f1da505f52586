"""Which file of a project lists its dependencies, and which others could."""

import re
from pathlib import Path

from repro.lock.installs import other_manifests
from repro.lock.pipfile import Gathered
from repro.lock.text import read_text
from repro.model.project import Project

USUAL = (
    "requirements.in", "requirements.txt",
    "requirements/requirements.txt", "requirements/base.txt", "requirements/train.txt",
    "environment.yml", "environment.yaml", "conda.yml", "conda.yaml", "env.yml", "env.yaml",
    "Pipfile", "pyproject.toml", "setup.cfg", "setup.py",
)  # fmt: skip


def name_others(got: Gathered, project: Project, used: list[str]) -> None:
    """Name files beside the chosen one that list dependencies as well, and are not read."""
    if project.origin("dependencies.requirements") in ("file", "option"):
        return
    rest = [n for n in (*USUAL, *other_manifests(got.root)) if n not in used and n not in got.inputs]
    rest = [n for n in dict.fromkeys(rest) if (got.root / n).is_file() and _declares(got.root / n)]
    rest = [n for n in rest if not n.endswith(".lock")]
    if rest:
        text = f"`{used[0]}` is read; also there, and not read: {', '.join(rest)}"
        remedy = "name all that training needs in `dependencies.requirements` in repro.toml"
        got.find("other-manifest", used[0], text, remedy=remedy)


def manifests(root: Path) -> list[str]:
    """The dependency file of a project with the usual names, as a list of one or none.

    A pyproject.toml, setup.cfg or setup.py counts only when it declares dependencies.
    """
    for name in USUAL:
        if (root / name).is_file() and _declares(root / name):
            return [name]
    return []


def _declares(path: Path) -> bool:
    patterns = {
        "pyproject.toml": r"(?m)^\s*(dependencies\s*=|\[tool\.poetry\.dependencies\]|dynamic\s*=.*depend)",
        "setup.cfg": r"(?m)^\s*install_requires\s*=",
        "setup.py": r"\binstall_requires\b",
    }
    pattern = patterns.get(path.name)
    return pattern is None or re.search(pattern, read_text(path)) is not None
