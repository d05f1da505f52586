"""Findings about the files beside the manifests: extensions, submodules, pip.conf, imports."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path

from repro import redact
from repro.lock.declared import SetupCall
from repro.lock.imports import imported
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Requirement, normal
from repro.lock.text import read_text
from repro.lock.walk import files_below

_ARCH = re.compile(r"arch=compute_(\d+)a?,code=\[?(?:sm|compute)_(\d+)|-arch=sm_(\d+)|compute_(\d+),code")
# Called, or given another name first: `extension = CUDAExtension`.
_EXTENSION = re.compile(
    r"\b(?:CUDAExtension|CppExtension)\s*\(|^\s*\w+\s*=[^#]*\b(?:CUDAExtension|CppExtension)\b(?!['\"])"
)
_JIT = re.compile(
    r"(?<![\w.])(?:(?:torch\.utils\.)?cpp_extension\.)?load(?:_inline)?\s*\(\s*(?:name\s*=|['\"]|$)"
)


def judge_tree(
    got: Gathered, requirements: Sequence[Requirement], *, based: bool = False, command: Sequence[str] = ()
) -> None:
    """Note findings about files that packaging must know of.

    Args:
        got: gets the findings.
        requirements: what is asked for; an extension that is named there comes as a wheel.
        based: whether the user chose the base image, which may then hold a compiler.
        command: the training command.
    """
    _submodules(got)
    for path in files_below(got.root):
        if path.name in ("pip.conf", "pip.ini", ".pypirc", ".netrc"):
            _configuration(got, path)
        elif path.name == "setup.py":
            _extension(got, path, requirements)
        elif path.suffix == ".py":
            _source(got, path, based=based, is_command=_name(got, path) in command)
    judge_kernels(got)


def _name(got: Gathered, path: Path) -> str:
    return path.relative_to(got.root).as_posix()


def _configuration(got: Gathered, path: Path) -> None:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        secret = re.match(r"\s*(password|token)\s*[=:]", line) or re.search(r"\bpassword\s+\S", line)
        if redact.has_login(line) or secret:
            text = f"login in a configuration file inside the repository: `{redact.text(line.strip())}`"
            remedy = "take the file out of the repository; the lock uses your account's own pip configuration"
            shown = text if not secret else "password in a configuration file inside the repository"
            got.find("credentials", _name(got, path), shown, number, severity=ERROR, remedy=remedy)


def _submodules(got: Gathered) -> None:
    listed = got.root / ".gitmodules"
    if not listed.is_file():
        return
    for path in re.findall(r"(?m)^\s*path\s*=\s*(\S.*?)\s*$", read_text(listed)):
        folder = got.root / path
        real = (
            [p for p in folder.rglob("*") if p.is_file() and p.name not in (".gitkeep", ".gitignore")]
            if folder.is_dir()
            else []
        )
        if not real:
            text = "named in .gitmodules, the folder has nothing in it"
            remedy = f"git submodule update --init -- {path}"
            got.find("submodule-empty", path, text, severity=ERROR, remedy=remedy)


def _source(got: Gathered, path: Path, *, based: bool, is_command: bool) -> None:
    content = read_text(path)
    file = _name(got, path)
    if "cpp_extension" in content:
        for number, line in enumerate(content.split("\n"), 1):
            if _JIT.search(line):
                severity = "warning" if based else ERROR
                text = "an extension is compiled when the program runs: it needs nvcc, a compiler and ninja"
                remedy = "name a devel base image whose CUDA fits torch in `dependencies.base` in repro.toml"
                got.find("cuda-jit", file, text, number, severity=severity, remedy=remedy)
    try:
        ast.parse(content)
    except SyntaxError as problem:
        text = f"no Python 3: {problem.msg}"
        severity = ERROR if is_command else "warning"
        got.find(
            "not-python3", file, text, problem.lineno or 1, severity=severity, remedy="port it to Python 3"
        )
    except (ValueError, RecursionError):
        return


def judge_kernels(got: Gathered) -> None:
    """Note CUDA sources that no setup script and no call of the program builds."""
    built = {f.file.rpartition("/")[0] for f in got.findings if f.code in ("cuda-extension", "cuda-jit")}
    found = [_name(got, p) for p in files_below(got.root) if p.suffix in (".cu", ".cuh")]
    left = [f for f in found if not any(b == "" or f == b or f.startswith(b + "/") for b in built)]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        text = f"CUDA code{more} that nothing here builds as far as this tool sees; it needs nvcc"
        got.find(
            "cuda-source",
            left[0],
            text,
            remedy="build a wheel of it elsewhere and name its folder in find_links",
        )


def _extension(got: Gathered, path: Path, requirements: Sequence[Requirement]) -> None:
    content = read_text(path)
    if "cpp_extension" not in content:
        _plain_extension(got, path, content)
        return
    file, lines = _name(got, path), content.split("\n")
    modules = _modules(content)
    if any(r.name and normal(m) == r.name and not r.path for m in modules for r in requirements):
        return
    used = [n for n in modules if n in imported(got.root)]
    asked = any(r.path and f"{r.path}/setup.py" == file for r in got.requirements)
    severity = ERROR if used or asked or _readme_names(got.root, path.parent) else "warning"
    for number, line in enumerate(lines, 1):
        if re.search(r"^\s*(from|import)\s+torch\b", line):
            text = "the build imports torch: torch must be there first, and no build isolation"
            got.find("build-needs-torch", file, text, number)
        if _EXTENSION.search(line) and "import" not in line:
            named = f" `{modules[0]}`" if modules else ""
            wanted = f", imported by {imported(got.root)[used[0]]}" if used else ""
            text = f"compiled extension{named}, in no dependency file{wanted}; it needs a compiler"
            remedy = (
                "a devel base image whose CUDA major fits torch, TORCH_CUDA_ARCH_LIST set to the targets "
                "(no card is visible while an image is built); put the built wheel into a --find-links folder"
            )
            got.find("cuda-extension", file, text, number, severity=severity, remedy=remedy)
    _hard_coded(got, file, lines)


def _plain_extension(got: Gathered, path: Path, content: str) -> None:
    for number, line in enumerate(content.split("\n"), 1):
        if re.search(r"\b(?:cythonize|Extension)\s*\(", line) and "import" not in line:
            asked = any(r.path and (got.root / r.path / "setup.py") == path for r in got.requirements)
            how = "it is built in the target" if asked else "in no dependency file"
            text = f"compiled extension, {how}; it needs a compiler"
            got.find(
                "c-extension", _name(got, path), text, number, remedy="name its folder in the dependency file"
            )
            return


def _hard_coded(got: Gathered, file: str, lines: Sequence[str]) -> None:
    """Note the targets of a whole file, since a list often takes several lines."""
    found = {number: line for number, line in enumerate(lines, 1) if _ARCH.search(line)}
    if not found:
        return
    named = {g for line in found.values() for groups in _ARCH.findall(line) for g in groups if g}
    targets = ", ".join(f"sm_{a}" for a in sorted(named, key=int))
    ptx = any("code=compute_" in line for line in found.values())
    text = f"only {targets} machine code{'' if ptx else ', no PTX'}; other cards are not in the list"
    got.find("hard-coded-arch", file, text, *found, remedy="leave -gencode to TORCH_CUDA_ARCH_LIST")


def _modules(content: str) -> list[str]:
    try:
        call = SetupCall(content)
    except SyntaxError:
        return []
    names = [call.values["name"][0]] if "name" in call.values else []
    names += re.findall(r"(?:CUDA|Cpp)Extension\(\s*(?:name\s*=\s*)?['\"]([\w.]+)['\"]", content)
    return list(dict.fromkeys(str(n).split(".")[0].replace("-", "_") for n in reversed(names)))


def _readme_names(root: Path, folder: Path) -> bool:
    relative = folder.relative_to(root).as_posix()
    return relative != "." and any(relative in read_text(p) for p in readmes(root))


def readmes(root: Path) -> list[Path]:
    """Readme files at the project's top."""
    return sorted(p for p in root.iterdir() if p.is_file() and p.name.lower().startswith("readme"))
