"""Which Python a project says that it needs."""

import configparser
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from repro.errors import ReproError
from repro.project.files import parse, read
from repro.project.usual import PYTHONS

_VERSION = re.compile(r"(?:python-|cpython-)?(3\.\d{1,2})(?:\.\d+\S*)?")
_PIPFILE = re.compile(r"^\s*python_(?:full_)?version\s*=\s*[\"'](3\.\d{1,2})", re.MULTILINE)
_CONDA = re.compile(r"^\s*-\s*['\"]?python\s*(?:=|==|>=|~=)\s*(3\.\d{1,2})", re.MULTILINE)
_SETUP_PY = re.compile(r"python_requires\s*=\s*['\"]([^'\"]+)['\"]")


def stated(root: Path) -> tuple[str, str]:
    """Version as `3.10` and the file that says so; two empty texts when no file does."""
    for name, read_version in _READERS.items():
        path = root / name
        if path.is_file():
            version = _quietly(read_version, path)
            if version:
                return version, name
    return "", ""


def _quietly(reader: Callable[[Path], str], path: Path) -> str:
    try:
        return reader(path)
    except (ReproError, configparser.Error):
        return ""


def _version_file(path: Path) -> str:
    for line in read(path).splitlines():
        if match := _VERSION.fullmatch(line.strip()):
            return match[1]
    return ""


def _pyproject(path: Path) -> str:
    table = parse(path)
    poetry = _inner(table, "tool", "poetry", "dependencies").get("python", "")
    spec = _inner(table, "project").get("requires-python", "") or poetry
    return fitting(spec) if isinstance(spec, str) else ""


def _inner(table: Any, *names: str) -> dict[str, Any]:
    for name in names:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def _setup_cfg(path: Path) -> str:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(read(path))
    return fitting(parser.get("options", "python_requires", fallback=""))


def _setup_py(path: Path) -> str:
    match = _SETUP_PY.search(read(path))
    return fitting(match[1]) if match else ""


def _conda(path: Path) -> str:
    match = _CONDA.search(read(path))
    return match[1] if match else ""


def _pipfile(path: Path) -> str:
    match = _PIPFILE.search(read(path))
    return match[1] if match else ""


def fitting(spec: str) -> str:
    """The first of the Pythons we know that a `requires-python` text allows, or empty."""
    spec = re.sub(r"\^(3\.\d+)(?:\.\d+)?", r">=\1,<4", spec.strip())
    try:
        allowed = SpecifierSet(spec)
    except InvalidSpecifier:
        return ""
    # A late patch level, so that `>3.9.1` and `>=3.9.5` allow 3.9.
    return next((v for v in PYTHONS if spec and allowed.contains(f"{v}.99")), "") or _exact(spec)


def _exact(spec: str) -> str:
    match = re.fullmatch(r"==\s*(3\.\d{1,2})(?:\.[\d*]+)?", spec)
    return match[1] if match else ""


_READERS: dict[str, Callable[[Path], str]] = {
    ".python-version": _version_file,
    "runtime.txt": _version_file,
    "environment.yml": _conda,
    "environment.yaml": _conda,
    "conda.yml": _conda,
    "conda.yaml": _conda,
    "env.yml": _conda,
    "env.yaml": _conda,
    "Pipfile": _pipfile,
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
}
