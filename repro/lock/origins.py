"""Named indexes of Poetry, uv and PDM beside a `[project]` table, and which package comes from which."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from repro.lock.pipfile import Gathered
from repro.lock.requests import Requirement, Source, normal
from repro.lock.single import BadLine, requirement_of
from repro.lock.text import line_of


def read_origins(got: Gathered, file: str, content: str, tools: dict[str, Any], first: int) -> None:
    """Add indexes, and tie requirements from position `first` on to them or to their repositories."""
    for name, url, explicit in _indexes(tools):
        line = line_of(content, re.escape(url)) or 1
        users = (
            "the packages that name it come from there only" if explicit else "used beside the default index"
        )
        got.find("named-source", file, f"source `{name}` at `{url}`: {users}", line)
        got.sources.append(Source(kind="extra-index", url=url, name=name, explicit=explicit))
    tied = dict(_tied(tools))
    for number, requirement in enumerate(got.requirements[first:], first):
        if row := tied.get(requirement.name):
            got.requirements[number] = _from(got, file, content, requirement, row)


def _indexes(tools: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    for row in tools.get("uv", {}).get("index", []):
        yield str(row.get("name", "")), str(row.get("url", "")), bool(row.get("explicit"))
    for row in tools.get("poetry", {}).get("source", []):
        yield str(row.get("name", "")), str(row.get("url", "")), row.get("priority") == "explicit"
    for row in tools.get("pdm", {}).get("source", []):
        yield str(row.get("name", "")), str(row.get("url", "")), bool(row.get("include_packages"))


def _tied(tools: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, row in tools.get("uv", {}).get("sources", {}).items():
        rows = row if isinstance(row, list) else [row]
        if not rows:
            continue
        yield normal(name), next((r for r in rows if _is_for_linux(r)), rows[0])
    for name, row in tools.get("poetry", {}).get("dependencies", {}).items():
        if isinstance(row, dict) and row.get("source"):
            yield normal(name), {"index": row["source"]}
    for source in tools.get("pdm", {}).get("source", []):
        for name in source.get("include_packages", []):
            yield normal(name), {"index": source.get("name", "")}


def _is_for_linux(row: dict[str, Any]) -> bool:
    marker = str(row.get("marker", ""))
    return not re.search(r"(?:win32|darwin|Windows|Darwin)", marker) or "!=" in marker


def _from(got: Gathered, file: str, content: str, r: Requirement, row: dict[str, Any]) -> Requirement:
    if "index" in row:
        return msgspec.structs.replace(r, source=str(row["index"]))
    if row.get("workspace"):
        return r
    revision = row.get("rev") or row.get("tag") or row.get("branch")
    text = str(row.get("url") or row.get("path") or "")
    if "git" in row:
        text = f"git+{row['git']}" + (f"@{revision}" if revision else "") + f"#egg={r.name}"
    elif "path" in row and not text.startswith((".", "/")):
        text = f"./{text}"
    line = line_of(content, rf"^\s*[\"']?{re.escape(r.name)}[\"']?\s*=\s*[\[{{]") or r.line
    try:
        made = requirement_of(text, got.root, file, line, editable=bool(row.get("editable")))
    except BadLine:
        return r
    return msgspec.structs.replace(made, name=r.name, extras=r.extras, marker=r.marker)
