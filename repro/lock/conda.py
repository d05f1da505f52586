"""Reads conda's environment.yml and says in pip's words what it asks for, or that it cannot be said."""

import re
from typing import Any

from repro.lock.declared import add
from repro.lock.pipfile import Gathered, read_file
from repro.lock.requests import ERROR, Finding, Hint, normal
from repro.lock.table import table, torch_releases
from repro.lock.text import line_of

_SPEC = re.compile(r"^(?:[\w./-]+::)?(?P<name>[\w.-]+)\s*(?P<spec>.*)$")
_TORCH_FAMILY = ("torch", "torchvision", "torchaudio")
_CUDA_PICKS = ("cudatoolkit", "pytorch-cuda", "cuda-version", "cudatoolkit-dev")
_CPU_PICKS = ("cpuonly",)


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
        text = f"not valid YAML: {str(problem).splitlines()[0]}"
        got.find("bad-line", file, text, severity=ERROR, remedy=f"correct `{file}`")
        return [], [], {}
    entries = document.get("dependencies", []) if isinstance(document, dict) else []
    pip = [e["pip"] for e in entries if isinstance(e, dict) and "pip" in e]
    with_pip = ", with a pip section" if pip else ""
    got.findings.append(Finding(code="conda-env", file=file, text=f"conda file{with_pip}; translated to pip"))
    for entry in entries:
        if isinstance(entry, str):
            _entry(env, entry)
    _torch_family(env)
    for section in pip:
        _pip_section(env, section)
    return env.hints, env.system, env.left_out


def _entry(env: _File, entry: str) -> None:
    matched = _SPEC.match(entry.strip())
    if not matched:
        env.find("bad-line", f"`{entry}` is not read", env.line(entry), ERROR)
        return
    name, spec = matched.group("name"), _pip_spec(matched.group("spec"))
    line, names = env.line(entry), table("package_names")
    if name == "python":
        env.hints.append(Hint(python=spec.removeprefix("==").removesuffix(".*"), where=f"{env.file}:{line}"))
    elif name in _CUDA_PICKS or name in _CPU_PICKS:
        _cuda(env, name, spec, line)
    elif name in names["conda_system"]:
        packages = names["conda_system"][name]
        env.system += packages
        env.find("system-library", f"{name} is not a Python package; Debian: {' '.join(packages)}", line)
    elif name in names["conda_toolchain"]["names"] or name in names["conda_only"]["names"]:
        _not_covered(env, name, line)
    else:
        _python_package(env, name, spec, line)


def _not_covered(env: _File, name: str, line: int) -> None:
    if name in table("package_names")["conda_toolchain"]["names"]:
        env.left_out[name] = "a compiler or tool that the base image must bring"
        env.find("not-covered", f"{name} is a compiler or tool; it is not installed", line)
    elif name not in ("pip", "setuptools", "wheel"):
        env.left_out[name] = "part of conda itself"
        env.find("conda-only", f"{name} is part of conda's own system", line)


def _python_package(env: _File, name: str, spec: str, line: int) -> None:
    mapped = table("package_names")["conda_python"].get(name, name)
    if mapped != name:
        env.find("conda-name", f"{name} is {mapped} on the Python index", line)
    if normal(mapped) in _TORCH_FAMILY:
        env.family.append((normal(mapped), spec, line))
    elif re.match(r"^(lib|_|r-)", name):
        env.left_out[name] = "not known on the Python index"
        env.find("not-covered", f"{name} is not a Python package this tool knows; it is left out", line)
    else:
        add(env.got, env.file, line, f"{mapped}{spec}")


def _cuda(env: _File, name: str, spec: str, line: int) -> None:
    version = ".".join(re.findall(r"\d+", spec)[:2])
    env.build = "cpu" if name in _CPU_PICKS else f"cu{version.replace('.', '')}" if version else ""
    what = f"CUDA {version}" if version else "CPU" if name in _CPU_PICKS else "no particular"
    env.find("conda-cuda", f"{name}{'=' + version if version else ''} selects the {what} build", line)


def _torch_family(env: _File) -> None:
    torch = next((spec.removeprefix("==") for name, spec, _ in env.family if name == "torch"), "")
    tags = [v["tag"] for v in torch_releases().get(torch, {}).get("variant", [])]
    for name, spec, line in env.family:
        pinned = re.fullmatch(r"==[\d.]+", spec)
        exact = f"{spec}+{env.build}" if env.build and pinned else spec
        add(env.got, env.file, line, f"{name}{exact}")
        if name == "torch" and env.build.startswith("cu") and tags and env.build not in tags:
            text = f"torch {torch} has no {env.build} build; there are {', '.join(tags)}"
            remedy = f"write `torch=={torch}+{tags[-1]}` in a requirements.in"
            env.find("conda-cuda", text, line, ERROR, remedy)


def _pip_section(env: _File, section: Any) -> None:
    for text in section or []:
        line = env.line(str(text))
        words = str(text).split(None, 1)
        if words[0] in ("-r", "--requirement") and len(words) == 2:
            read_file(env.got, words[1])
        elif words[0].startswith("-"):
            _option(env, str(text), line)
        else:
            add(env.got, env.file, line, str(text))


def _option(env: _File, text: str, line: int) -> None:
    from repro.lock.pipfile import take_line
    from repro.lock.single import BadLine
    from repro.lock.text import Line

    try:
        take_line(env.got, env.file, Line(line, line, text))
    except BadLine as problem:
        env.find("bad-line", str(problem), line, ERROR)


def _pip_spec(spec: str) -> str:
    """Conda's version in pip's words: `=1.8` as `==1.8.*`, `=1.8.1` and `==1.8.1=build` as `==1.8.1`."""
    spec = spec.strip().strip("'\"").replace(" ", "")
    if not spec:
        return ""
    fuzzy = re.fullmatch(r"=([\w.]+)(?:=\S*)?", spec)
    if fuzzy:
        version = fuzzy.group(1).removesuffix(".*")
        return f"=={version}" if version.count(".") >= 2 or "=" in spec[1:] else f"=={version}.*"
    exact = re.fullmatch(r"==([\w.*]+)(?:=\S*)?", spec)
    if exact:
        return f"=={exact.group(1)}"
    return spec if re.match(r"[<>!~]", spec) else f"=={spec}"
