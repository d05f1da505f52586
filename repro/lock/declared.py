"""Reads what a package declares of itself: pyproject.toml (PEP 621), setup.cfg, setup.py, never run."""

import ast
import configparser
import re
from pathlib import Path

from repro.lock.origins import read_origins
from repro.lock.pipfile import Gathered, include
from repro.lock.requests import ERROR, Hint
from repro.lock.shapes import Pyproject, load_toml
from repro.lock.single import BadLine, requirement_of
from repro.lock.text import decode, line_of


def read_pyproject(got: Gathered, file: str) -> list[Hint]:
    """Add `[project]` dependencies; groups and optional ones stay out. Returns Python hints."""
    content, document = load_toml(got, file, Pyproject)
    project, first = document.get("project", {}), len(got.requirements)
    start = line_of(content, r"^\s*dependencies\s*=") or 1
    for text in project.get("dependencies", []):
        number = line_of(content, re.escape(text).replace("\\'", "['\"]"), start) or start
        add(got, file, number, text)
    if "dependencies" in project.get("dynamic", []):
        _dynamic(got, file, content, document)
    read_origins(got, file, content, document.get("tool", {}), first)
    _extras(got, file, content, sorted(project.get("optional-dependencies", {})), r"optional-dependencies")
    asked = project.get("requires-python", "")
    return [Hint(python=asked, where=f"{file}:{line_of(content, 'requires-python')}")] if asked else []


def _dynamic(got: Gathered, file: str, content: str, document: dict[str, object]) -> None:
    setuptools = document.get("tool", {}).get("setuptools", {})  # type: ignore[attr-defined]
    named = setuptools.get("dynamic", {}).get("dependencies", {}).get("file", [])
    for name in [named] if isinstance(named, str) else named:
        include(got, file, line_of(content, re.escape(name)) or 1, name)
    if not named:
        number = line_of(content, r"^\s*dynamic\s*=")
        text = "dependencies are computed when the package is built; they are not read"
        remedy = "list what training needs in a requirements.in"
        got.find("code-at-parse", file, text, number, severity=ERROR, remedy=remedy)


def _extras(got: Gathered, file: str, content: str, names: list[str], pattern: str) -> None:
    if names:
        text = f"extras {' and '.join(names)} are left out"
        remedy = f"name what training needs in a requirements.in, for instance `.[{names[0]}]`"
        got.find("extras", file, text, line_of(content, pattern), severity="note", remedy=remedy)


def add(got: Gathered, file: str, line: int, text: str) -> None:
    """Add one requirement given as text; a bad one becomes a finding."""
    try:
        got.requirements.append(requirement_of(text, got.root, file, line))
    except BadLine as problem:
        remedy = f"correct line {line} of `{file}`"
        got.find("bad-line", file, str(problem), line, severity=ERROR, remedy=remedy)


def read_setup_cfg(got: Gathered, file: str) -> list[Hint]:
    """Add `[options] install_requires` of a setup.cfg. Returns Python hints."""
    content = got.load(file)
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(content)
    except configparser.Error as problem:
        got.find("bad-line", file, str(problem).splitlines()[0], severity=ERROR, remedy=f"correct `{file}`")
        return []
    start = line_of(content, r"^\s*install_requires\s*=") or 1
    value = parser.get("options", "install_requires", fallback="")
    if value.strip().startswith("file:"):
        for name in value.strip().removeprefix("file:").split(","):
            include(got, file, line_of(content, re.escape(name.strip())) or start, name.strip())
        value = ""
    for text in filter(
        None, (part.strip() for part in re.split(r"[\n;](?!\s*(?:python|sys|platform|os))", value))
    ):
        if not text.startswith("#"):
            add(got, file, line_of(content, re.escape(text), start) or start, text)
    extras = sorted(parser["options.extras_require"]) if parser.has_section("options.extras_require") else []
    _extras(got, file, content, extras, r"extras_require")
    asked = parser.get("options", "python_requires", fallback="")
    return [Hint(python=asked, where=f"{file}:{line_of(content, 'python_requires')}")] if asked else []


class SetupCall:
    """Arguments of `setup(...)` in a setup.py that can be read without running it.

    Attributes:
        values: literal arguments by name, with line of the value. unread: names whose value is computed.
        executed: lines where the file runs other code while it is read. files: text files that it names.
    """

    def __init__(self, content: str) -> None:
        self.values: dict[str, tuple[object, int, int]] = {}
        self.unread: dict[str, int] = {}
        self.executed: list[int] = []
        tree = ast.parse(content)
        self.files = [
            n.value
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.endswith((".txt", ".in"))
        ]
        self._names = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(node)

    def _call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in ("exec", "execfile", "eval", "run_path", "import_module", "exec_module"):
            self.executed.append(node.lineno)
        if name != "setup":
            return
        for word in node.keywords:
            if word.arg is None:
                self.unread["**"] = word.value.lineno
                continue
            value = (
                self._names.get(word.value.id, word.value) if isinstance(word.value, ast.Name) else word.value
            )
            try:
                literal = ast.literal_eval(value)
            except ValueError:
                self.unread[word.arg] = word.value.lineno
            else:
                self.values[word.arg] = (literal, value.lineno, value.end_lineno or value.lineno)

    def text_list(self, name: str) -> list[str]:
        """A literal list of texts (or one text with lines), else nothing."""
        value = self.values.get(name, ((), 0, 0))[0]
        if isinstance(value, str):
            value = value.splitlines()
        return (
            [v for v in value if isinstance(v, str) and v.strip()] if isinstance(value, list | tuple) else []
        )


def read_setup_py(got: Gathered, file: str) -> list[Hint]:
    """Add literal `install_requires` of a setup.py, which is parsed and never run. Returns Python hints."""
    content = got.load(file)
    try:
        call = SetupCall(content)
    except SyntaxError as problem:
        text = f"not Python 3 ({problem.msg}, line {problem.lineno}); it is not read"
        got.find(
            "bad-line", file, text, problem.lineno or 1, severity=ERROR, remedy="write a requirements.in"
        )
        return []
    _, first, last = call.values.get("install_requires", ((), 1, 1))
    lines = content.split("\n")
    for text in call.text_list("install_requires"):
        inside = next((n for n in range(first, last + 1) if text in lines[n - 1]), first)
        add(got, file, inside, text)
    _describe(got, file, call)
    asked = call.values.get("python_requires")
    return [Hint(python=str(asked[0]), where=f"{file}:{asked[1]}")] if asked else []


def _describe(got: Gathered, file: str, call: SetupCall) -> None:
    extras, extras_line, extras_last = call.values.get("extras_require", ({}, 0, 0))
    names = " and ".join(extras) if isinstance(extras, dict) else ""
    _, first, last = call.values.get("install_requires", ((), 0, 0))
    lines = [n for n in (*range(first, last + 1), *range(extras_line, extras_last + 1)) if n]
    text = "dependencies stand only in a setup script, read without running it"
    text += f"; extras {names} are left out" if names else ""
    text += "; the project itself runs from its folder and is not installed"
    got.find(
        "setup-py",
        file,
        text,
        *(lines or [1]),
        remedy="for extras, or to install it: a requirements.in with `.`",
    )
    for line in call.executed:
        got.find(
            "code-at-parse", file, "the script executes other code while it is read; that is not run", line
        )
    computed = call.unread.get("install_requires") or call.unread.get("**")
    if computed:
        read = [n for n in call.files if (got.root / n).is_file()]
        remedy = "list what training needs in a requirements.in"
        if read:
            remedy = (
                f'the script reads {", ".join(read)}: dependencies.requirements = ["{read[0]}"] in repro.toml'
            )
        text = "the list of dependencies is computed by code and cannot be read"
        got.find("code-at-parse", file, text, computed, severity=ERROR, remedy=remedy)


def dependencies_of_folder(folder: Path) -> list[tuple[str, str]]:
    """(file name, requirement) of a package folder, from its setup.py, setup.cfg or pyproject.toml."""
    found: list[tuple[str, str]] = []
    if (folder / "setup.py").is_file():
        try:
            call = SetupCall(decode((folder / "setup.py").read_bytes()).content)
        except SyntaxError:
            return found
        found += [("setup.py", text) for text in call.text_list("install_requires")]
    probe = Gathered(folder)
    if (folder / "pyproject.toml").is_file():
        read_pyproject(probe, "pyproject.toml")
    if (folder / "setup.cfg").is_file():
        read_setup_cfg(probe, "setup.cfg")
    return found + [(r.file, r.text) for r in probe.requirements if r.name]
