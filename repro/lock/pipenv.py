"""Reads a Pipfile: packages, named sources, the Python it wants. Development packages stay out."""

import re
from typing import Any

import msgspec

from repro.lock.declared import add
from repro.lock.pipconf import default_index
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Hint, Source, normal
from repro.lock.shapes import Pipenv, load_toml
from repro.lock.single import BadLine, requirement_of
from repro.lock.text import line_of


def read_pipenv(got: Gathered, file: str) -> list[Hint]:
    """Add `[packages]` of a Pipfile. Returns Python hints."""
    content, document = load_toml(got, file, Pipenv)
    got.find(
        "pipfile", file, "Pipfile; development packages are left out", line_of(content, r"^\[packages\]") or 1
    )
    _sources(got, file, content, document.get("source", []))
    start = line_of(content, r"^\[packages\]") or 1
    for name, value in document.get("packages", {}).items():
        line = line_of(content, rf"^\s*[\"']?{re.escape(name)}[\"']?\s*=", start) or start
        _package(got, file, line, name, {"version": value} if isinstance(value, str) else dict(value))
    requires = document.get("requires", {})
    python = str(requires.get("python_full_version") or requires.get("python_version") or "")
    return [Hint(python=python, where=f"{file}:{line_of(content, 'python_')}")] if python else []


def _sources(got: Gathered, file: str, content: str, sources: list[dict[str, Any]]) -> None:
    for number, source in enumerate(sources):
        url, name = str(source.get("url", "")), str(source.get("name", ""))
        line = line_of(content, re.escape(url)) or 1
        if number == 0 and url.rstrip("/") == default_index().rstrip("/"):
            continue
        users = (
            "the packages that name it come from there only"
            if number
            else "it takes the place of the default index"
        )
        got.find("named-source", file, f"source `{name}` at `{url}`: {users}", line)
        kind = "extra-index" if number else "index"
        got.sources.append(Source(kind=kind, url=url, name=name if number else "", explicit=bool(number)))
        if source.get("verify_ssl") is False:
            got.find("trusted-host", file, f"the certificate check is switched off for `{name}`", line)


def _package(got: Gathered, file: str, line: int, name: str, table: dict[str, Any]) -> None:
    extras = f"[{','.join(table.get('extras', []))}]" if table.get("extras") else ""
    marker = str(table.get("markers") or "")
    if "git" in table or "path" in table or "file" in table:
        reference = f"@{table['ref']}" if table.get("ref") else ""
        text = (
            f"git+{table['git']}{reference}#egg={name}"
            if "git" in table
            else str(table.get("path") or table["file"])
        )
        text = text if "://" in text or text.startswith((".", "/")) else f"./{text}"
        try:
            made = requirement_of(text, got.root, file, line, editable=bool(table.get("editable")))
            got.requirements.append(
                msgspec.structs.replace(made, name=made.name if made.path else normal(name))
            )
        except BadLine as problem:
            got.find("bad-line", file, str(problem), line, severity=ERROR, remedy=f"correct line {line}")
        return
    version = str(table.get("version", "*"))
    before = len(got.requirements)
    add(
        got,
        file,
        line,
        f"{name}{extras}{'' if version == '*' else version}{' ; ' + marker if marker else ''}",
    )
    index = str(table.get("index", ""))
    if index and len(got.requirements) > before and any(s.name == index for s in got.sources):
        got.requirements[-1] = msgspec.structs.replace(got.requirements[-1], source=index)
