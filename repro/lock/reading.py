"""Reads all dependency files of a project and judges them, without a network and without running anything."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from repro.errors import ReproError
from repro.lock import guess, spelling
from repro.lock.conda import read_conda
from repro.lock.declared import read_pyproject, read_setup_cfg, read_setup_py
from repro.lock.names import judge_names
from repro.lock.pipfile import Gathered, read_file
from repro.lock.poetry import read_poetry
from repro.lock.requests import ERROR, Hint, Requests, Source, merged
from repro.lock.text import line_of, read_text
from repro.lock.torch import judge_torch
from repro.lock.tree import imported, judge_tree
from repro.model.project import Project

USUAL = (
    "requirements.in", "requirements.txt",
    "environment.yml", "environment.yaml", "conda.yml", "conda.yaml", "env.yml",
    "pyproject.toml", "setup.cfg", "setup.py",
)  # fmt: skip


def read(project: Project) -> Requests:
    """Everything that the project's dependency files ask for, with findings.

    Raises:
        lock-input: a finding is an error; all are listed with place and remedy.
        lock-file-missing: repro.toml names a file that is not there.
    """
    requests = examine(project)
    errors = [f for f in requests.findings if f.severity == ERROR]
    if errors:
        raise ReproError(
            "lock-input",
            "the dependency files cannot be locked as they are",
            found=[f"{f.where}  {f.code}: {f.text}" for f in errors],
            needs=[f"{f.where}  {f.remedy}" for f in errors if f.remedy],
            done="nothing was downloaded and nothing was changed",
            tries=["edit the places above, then run the same command again"],
        )
    return requests


def examine(project: Project) -> Requests:
    """The same as `read`, with errors left among the findings."""
    got = Gathered(Path(project.root))
    wanted = project.settings.dependencies
    imported.cache_clear()
    hints, system, left_out = _read_manifests(got, project)
    _settings(got, project)
    hints = _python_hints(got, project, hints)
    judged = judge_names(got)
    requirements = judged.kept
    added = judge_torch(got, requirements, hints)
    spelling.judge_spelling(got, requirements)
    judge_tree(got)
    if any(r.name == "torch" and not r.spec for r in requirements) and not any(
        c.name == "torch" for c in got.constraints
    ):
        guess.date_hints(got)
    return Requests(
        requirements=tuple(requirements),
        constraints=(*got.constraints, *added),
        sources=tuple(dict.fromkeys(got.sources)),
        trusted=tuple(got.trusted),
        system=tuple(dict.fromkeys([*wanted.system, *system, *judged.system])),
        python=tuple(hints),
        left_out=left_out | judged.left_out,
        findings=merged(got.findings),
        inputs=dict(sorted(got.inputs.items())),
        old_metadata=judged.old_metadata,
        pre=got.pre,
    )


def _read_manifests(got: Gathered, project: Project) -> tuple[list[Hint], list[str], dict[str, str]]:
    hints: list[Hint] = []
    system: list[str] = []
    left_out: dict[str, str] = {}
    files = project.settings.dependencies.requirements or manifests(got.root)
    if not files:
        guess.propose(got)
    for file in files:
        if not (got.root / file).is_file():
            raise ReproError(
                "lock-file-missing",
                f"the dependency file `{file}` does not exist",
                found=f"`dependencies.requirements`, origin: {project.origin('dependencies.requirements')}",
                needs=f"a file at `{file}` in the project's folder",
                tries=[f"correct `dependencies.requirements` in `{project.file or 'repro.toml'}`"],
            )
        if re.search(r"\.ya?ml$", file):
            more, packages, dropped = read_conda(got, file)
            hints, system, left_out = hints + more, system + packages, left_out | dropped
        else:
            hints += _reader(got.root, file)(got, file)
    return hints, system, left_out


def _reader(root: Path, file: str) -> Callable[[Gathered, str], list[Hint]]:
    name = Path(file).name
    if name == "pyproject.toml":
        return read_poetry if _is_poetry(root / file) else read_pyproject
    return {"setup.cfg": read_setup_cfg, "setup.py": read_setup_py}.get(name, _read_pip)


def _read_pip(got: Gathered, file: str) -> list[Hint]:
    read_file(got, file)
    return []


def _is_poetry(path: Path) -> bool:
    try:
        document = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError:
        return False
    own = document.get("project", {}).get("dependencies")
    return not own and "dependencies" in document.get("tool", {}).get("poetry", {})


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


def _settings(got: Gathered, project: Project) -> None:
    wanted = project.settings.dependencies
    for file in wanted.constraints:
        read_file(got, file, constrains=True)
    if wanted.index_url:
        got.sources.append(Source(kind="index", url=wanted.index_url))
    got.sources += [Source(kind="extra-index", url=url) for url in wanted.extra_index_urls]
    for link in wanted.find_links:
        url = link if "://" in link else str((got.root / link).resolve())
        got.sources.append(Source(kind="find-links", url=url))


def _python_hints(got: Gathered, project: Project, hints: list[Hint]) -> list[Hint]:
    asked, origin = project.settings.dependencies.python, project.origin("dependencies.python")
    if asked and origin in ("file", "option"):
        file = project.file or "repro.toml"
        text = read_text(got.root / file) if origin == "file" and (got.root / file).is_file() else ""
        line = line_of(text, r"^\s*python\s*=")
        return [Hint(python=asked, where=f"{file}:{line}" if line else origin), *hints]
    for name in (".python-version", "runtime.txt"):
        path = got.root / name
        if path.is_file():
            version = re.search(r"\d+\.\d+(\.\d+)?", read_text(path))
            if version:
                hints = [Hint(python=version.group(), where=name), *hints]
    return hints
