"""The types that tables of pyproject.toml and Pipfile must have where they are read."""

import tomllib
from typing import Any

import msgspec

from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR
from repro.lock.text import line_of

_Row = dict[str, Any]


class _Project(msgspec.Struct, rename="kebab"):
    dependencies: list[str] = []
    dynamic: list[str] = []
    requires_python: str = ""
    optional_dependencies: dict[str, list[str]] = {}


class _Poetry(msgspec.Struct):
    dependencies: dict[str, str | _Row | list[_Row]] = {}
    source: list[_Row] = []


class _Uv(msgspec.Struct):
    sources: dict[str, _Row | list[_Row]] = {}
    index: list[_Row] = []


class _Pdm(msgspec.Struct):
    source: list[_Row] = []


class _Dynamic(msgspec.Struct):
    dependencies: _Row = {}


class _Setuptools(msgspec.Struct):
    dynamic: _Dynamic = msgspec.field(default_factory=_Dynamic)


class _Tool(msgspec.Struct):
    poetry: _Poetry = msgspec.field(default_factory=_Poetry)
    uv: _Uv = msgspec.field(default_factory=_Uv)
    pdm: _Pdm = msgspec.field(default_factory=_Pdm)
    setuptools: _Setuptools = msgspec.field(default_factory=_Setuptools)


class Pyproject(msgspec.Struct):
    """What is read of a pyproject.toml."""

    project: _Project = msgspec.field(default_factory=_Project)
    tool: _Tool = msgspec.field(default_factory=_Tool)


class Pipenv(msgspec.Struct):
    """What is read of a Pipfile."""

    packages: dict[str, str | _Row] = {}
    source: list[_Row] = []
    requires: _Row = {}


def load_toml(got: Gathered, file: str, shape: type[Pyproject | Pipenv]) -> tuple[str, dict[str, Any]]:
    """Text and tables of a TOML file; empty tables, and a finding, when it is none or its types are wrong."""
    content = got.load(file)
    try:
        document = tomllib.loads(content)
        msgspec.convert(document, shape)
    except tomllib.TOMLDecodeError as problem:
        text = f"not valid TOML: {problem}"
    except msgspec.ValidationError as problem:
        text = str(problem)
    else:
        return content, document
    key = text.rpartition("$.")[2].rstrip("`").rpartition(".")[2].split("[")[0]
    line = line_of(content, rf"^\s*[\"']?{key}[\"']?\s*=|{key}\]") if key.isidentifier() else 0
    got.find("bad-line", file, text, line or 1, severity=ERROR, remedy=f"correct `{file}`")
    return content, {}
