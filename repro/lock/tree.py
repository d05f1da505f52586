"""Findings about the files beside the manifests: extensions, submodules, pip.conf, imports."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from repro import redact
from repro.lock.declared import SetupCall
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR
from repro.lock.table import table
from repro.lock.text import read_text

_SKIP = {
    ".git",
    ".hg",
    ".venv",
    "venv",
    "env",
    "node_modules",
    "__pycache__",
    ".repro",
    "build",
    "dist",
    ".tox",
    "site-packages",
}
_ARCH = re.compile(r"arch=compute_(\d+)a?,code=\[?(?:sm|compute)_(\d+)|-arch=sm_(\d+)|compute_(\d+),code")
_EXTENSION = re.compile(r"\b(CUDAExtension|CppExtension)\s*\(")
_MAX_FILES = 20_000


def files_below(root: Path) -> Iterator[Path]:
    """Files of the project in a fixed order, without environments and build outputs; at most 20 000."""
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in _SKIP and not d.endswith(".egg-info"))
        for name in sorted(names):
            count += 1
            if count > _MAX_FILES:
                return
            yield Path(folder) / name


def judge_tree(got: Gathered) -> None:
    """Note findings about files that packaging must know of."""
    _submodules(got)
    for path in files_below(got.root):
        if path.name in ("pip.conf", "pip.ini", ".pypirc", ".netrc"):
            _configuration(got, path)
        elif path.name == "setup.py":
            _extension(got, path)


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


def _extension(got: Gathered, path: Path) -> None:
    content = read_text(path)
    if "cpp_extension" not in content:
        return
    file, lines = _name(got, path), content.split("\n")
    modules = _modules(content)
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
        _hard_coded(got, file, number, line)


def _hard_coded(got: Gathered, file: str, number: int, line: str) -> None:
    found = sorted({g for groups in _ARCH.findall(line) for g in groups if g}, key=int)
    if not found:
        return
    ptx = "code=compute_" in line
    targets = ", ".join(f"sm_{a}" for a in found)
    text = f"only {targets} machine code{'' if ptx else ', no PTX'}; other cards are not in the list"
    got.find("hard-coded-arch", file, text, number, remedy="leave -gencode to TORCH_CUDA_ARCH_LIST")


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


@cache
def imported(root: Path) -> dict[str, str]:
    """Top-level modules that the project's Python files import, with the first `file:line`."""
    found: dict[str, str] = {}
    for path in files_below(root):
        if path.suffix != ".py" or path.name in ("setup.py", "conftest.py"):
            continue
        for name, line in _imports(path):
            found.setdefault(name, f"{path.relative_to(root).as_posix()}:{line}")
    return found


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    try:
        parsed = ast.parse(read_text(path))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0], node.lineno


def foreign(root: Path) -> dict[str, str]:
    """Imported modules that are neither standard library nor the project's own, with the first place."""
    own = {p.stem for p in files_below(root) if p.suffix == ".py"}
    own |= {p.parent.name for p in files_below(root) if p.suffix == ".py"}
    return {n: w for n, w in imported(root).items() if n not in sys.stdlib_module_names and n not in own}


def project_of(module: str) -> str:
    """Project on the Python index that holds a module, as far as the table knows; else the module's name."""
    return str(table("package_names")["imports"].get(module, module))
