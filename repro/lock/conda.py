"""Reads conda's files, environment.yml and lists, and says in pip's words what they ask for, if it can."""

import re
from typing import Any

from repro.lock.condaspec import Spec, of_address, parse
from repro.lock.declared import add
from repro.lock.pipfile import Gathered, take_line
from repro.lock.requests import ERROR, Finding, Hint, normal
from repro.lock.single import BadLine
from repro.lock.table import guessed, known, table
from repro.lock.text import Line, line_of
from repro.tables.torchbuilds import releases

_TORCH_FAMILY = ("torch", "torchvision", "torchaudio")
_CUDA_PICKS = ("cudatoolkit", "pytorch-cuda", "cuda-version", "cudatoolkit-dev")
_CPU_PICKS = ("cpuonly",)
_LIST_LINE = re.compile(r"^[\w.-]+=[\w.!+]+=[\w.]+$")


class _File:
    """One environment.yml while it is read."""

    def __init__(self, got: Gathered, file: str, content: str) -> None:
        self.got, self.file, self.content = got, file, content
        self.start = line_of(content, r"^dependencies\s*:") or 1
        self.hints: list[Hint] = []
        self.system: list[str] = []
        self.left_out: dict[str, str] = {}
        self.build = ""
        self.family: list[tuple[str, str, int]] = []

    def line(self, text: str) -> int:
        """Line of one list entry."""
        return (
            line_of(self.content, rf"^\s*-\s*[\"']?{re.escape(text)}[\"']?\s*(#.*)?$", self.start)
            or self.start
        )

    def find(self, code: str, text: str, line: int, severity: str = "warning", remedy: str = "") -> None:
        """Note a finding in this file."""
        self.got.find(code, self.file, text, line, severity=severity, remedy=remedy)


def read_conda(got: Gathered, file: str) -> tuple[list[Hint], list[str], dict[str, str]]:
    """Add a conda environment. Returns Python hints, Debian packages, and what was left out and why."""
    import yaml

    env = _File(got, file, got.load(file))
    try:
        document = yaml.safe_load(env.content)
    except yaml.YAMLError as problem:
        text = f"not valid YAML: {' '.join(str(problem).split())}"
        mark = getattr(problem, "problem_mark", None)
        got.find(
            "bad-line", file, text, mark.line + 1 if mark else 1, severity=ERROR, remedy=f"correct `{file}`"
        )
        return [], [], {}
    document = document if isinstance(document, dict) else {}
    entries = document.get("dependencies") or []
    if not isinstance(entries, list):
        env.find(
            "bad-line", "`dependencies` is not a list", env.start, ERROR, "write `- name=version` entries"
        )
        return [], [], {}
    pip = [e["pip"] for e in entries if isinstance(e, dict) and "pip" in e]
    with_pip = ", with a pip section" if pip else ""
    got.findings.append(Finding(code="conda-env", file=file, text=f"conda file{with_pip}; translated to pip"))
    for entry in entries:
        if isinstance(entry, str):
            _entry(env, entry, env.line(entry))
        elif not (isinstance(entry, dict) and "pip" in entry):
            env.find("bad-line", f"`{entry}` is no entry of a conda file", env.line(str(entry)), ERROR)
    if document.get("variables"):
        names = ", ".join(map(str, document["variables"]))
        line = line_of(env.content, r"^variables\s*:")
        env.find("conda-variables", f"{names}: not set here; pass them with repro run --env", line)
    _torch_family(env)
    for section in pip:
        _pip_section(env, section)
    return env.hints, env.system, env.left_out


def is_conda_list(content: str) -> bool:
    """Whether a text is what `conda list --export` or `--explicit` writes, whatever its name."""
    lines = [
        line.strip() for line in content.split("\n") if line.strip() and not line.lstrip().startswith("#")
    ]
    if "@EXPLICIT" in lines:
        return True
    fits = sum(bool(_LIST_LINE.match(line)) for line in lines)
    return bool(lines) and 2 * fits > len(lines)


def read_conda_list(got: Gathered, file: str) -> tuple[list[Hint], list[str], dict[str, str]]:
    """Add a list that conda exported; returns what `read_conda` does."""
    env = _File(got, file, got.load(file))
    text = "a list that conda exported, not one for pip; translated to pip"
    got.findings.append(Finding(code="conda-list", file=file, text=text))
    for number, raw in enumerate(env.content.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith(("#", "@")):
            continue
        spec = of_address(line)
        if spec:
            _take(env, spec, number)
        else:
            _entry(env, line, number)
    _torch_family(env)
    return env.hints, env.system, env.left_out


def _entry(env: _File, entry: str, line: int) -> None:
    try:
        _take(env, parse(entry), line)
    except BadLine as problem:
        env.find("bad-line", str(problem), line, ERROR, f"correct line {line} of `{env.file}`")


def _take(env: _File, entry: Spec, line: int) -> None:
    name, spec, names = entry.name, entry.spec, table("package_names")
    if name == "python":
        env.hints.append(Hint(python=spec.removeprefix("==").removesuffix(".*"), where=f"{env.file}:{line}"))
    elif name in _CUDA_PICKS or name in _CPU_PICKS:
        _cuda(env, name, spec, line)
    elif name in names["conda_system"]:
        packages = names["conda_system"][name]["debian"]
        env.system += packages
        env.find("system-library", f"{name} is not a Python package; Debian: {' '.join(packages)}", line)
    elif system := _other_system(name):
        env.left_out[name] = f"{system} only"
        env.find("os-only-package", f"{system} only: {name} is left out", line)
    elif name in known("conda_toolchain") or name in known("conda_only"):
        _not_covered(env, name, line)
    elif name in table("requirement_traps")["conda_halves"]["names"]:
        env.left_out[name] = "a part of another package, in conda alone"
    else:
        _python_package(env, entry, line)


def _other_system(name: str) -> str:
    rows = table("requirement_traps")["conda_os"]
    return next((str(row["os"]) for row in rows if re.match(row["names"], name)), "")


def _not_covered(env: _File, name: str, line: int) -> None:
    if name in known("conda_toolchain"):
        env.left_out[name] = "a compiler or tool that the base image must bring"
        env.find("not-covered", f"{name} is a compiler or tool; it is not installed", line)
    elif name not in ("pip", "setuptools", "wheel"):
        env.left_out[name] = "part of conda itself"
        env.find("conda-only", f"{name} is part of conda's own system", line)


def _python_package(env: _File, entry: Spec, line: int) -> None:
    name, spec = entry.name, entry.spec
    mapped = known("conda_python").get(name, name)
    if normal(mapped) in _TORCH_FAMILY:
        env.family.append((normal(mapped), spec, line))
        env.build = env.build or entry.cuda
    elif re.match(r"^(lib|_|r-)", name) or (entry.is_native and mapped == name):
        env.left_out[name] = "not known on the Python index"
        env.find("not-covered", f"{name} is not a Python package this tool knows; it is left out", line)
        return
    if mapped != name:
        sure = "is" if name not in guessed("conda_python") else "is taken to be, which is a guess,"
        env.find("conda-name", f"{name} {sure} {mapped} on the Python index", line)
    if normal(mapped) not in _TORCH_FAMILY:
        add(env.got, env.file, line, f"{mapped}{spec}")


def _cuda(env: _File, name: str, spec: str, line: int) -> None:
    version = ".".join(re.findall(r"\d+", spec)[:2])
    env.build = "cpu" if name in _CPU_PICKS else f"cu{version.replace('.', '')}" if version else ""
    what = f"CUDA {version}" if version else "CPU" if name in _CPU_PICKS else "no particular"
    env.find("conda-cuda", f"{name}{'=' + version if version else ''} selects the {what} build", line)


def _torch_family(env: _File) -> None:
    torch = next((spec.removeprefix("==") for name, spec, _ in env.family if name == "torch"), "")
    row = releases().get(torch)
    tags = [build.tag for build in row.builds] if row else []
    for name, spec, line in env.family:
        pinned = re.fullmatch(r"==[\d.]+", spec)
        exact = f"{spec}+{env.build}" if env.build and pinned else spec
        add(env.got, env.file, line, f"{name}{exact}")
        if name == "torch" and env.build.startswith("cu") and tags and env.build not in tags:
            text = f"torch {torch} has no {env.build} build; there are {', '.join(tags)}"
            remedy = f"write `torch=={torch}+{tags[-1]}` in a requirements.in"
            env.find("conda-cuda", text, line, ERROR, remedy)


def _pip_section(env: _File, section: Any) -> None:
    if not isinstance(section, list):
        line = line_of(env.content, r"^\s*-?\s*pip\s*:") or env.start
        text = f"the pip section is `{section}`, not a list"
        env.find("bad-line", text, line, ERROR, "write each requirement as an entry: `- -r requirements.txt`")
        return
    for text in section:
        line = env.line(str(text))
        if not isinstance(text, str):
            env.find("bad-line", f"`{text}` is no requirement", line, ERROR, f"correct line {line}")
            continue
        try:
            take_line(env.got, env.file, Line(line, line, str(text).split(" #")[0].strip()))
        except BadLine as problem:
            env.find("bad-line", str(problem), line, ERROR, f"correct line {line} of `{env.file}`")
