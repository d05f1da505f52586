"""Reads Poetry's tables: caret and tilde ranges, named sources, path and git dependencies."""

import re
from typing import Any

from repro.lock.declared import add
from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Hint, Requirement, Source
from repro.lock.shapes import Pyproject, load_toml
from repro.lock.single import BadLine, has_secret, requirement_of
from repro.lock.text import line_of

_MAIN = r"^\s*\[tool\.poetry\.dependencies\]"


def read_poetry(got: Gathered, file: str) -> list[Hint]:
    """Add `[tool.poetry.dependencies]`; groups and optional ones stay out. Returns Python hints."""
    content, document = load_toml(got, file, Pyproject)
    poetry = document.get("tool", {}).get("poetry", {})
    start = line_of(content, _MAIN) or 1
    has_lock = (got.root / file).with_name("poetry.lock").is_file()
    lock = "with a poetry.lock" if has_lock else "no lock file; versions are resolved anew"
    got.find("poetry", file, f"Poetry tables, {lock}", start)
    hints = []
    _sources(got, file, content, poetry.get("source", []))
    for name, value in poetry.get("dependencies", {}).items():
        line = line_of(content, rf"^\s*[\"']?{re.escape(name)}[\"']?\s*=", start) or start
        if name == "python":
            hints.append(Hint(python=_range(got, file, line, str(value)), where=f"{file}:{line}"))
        else:
            _dependency(got, file, line, name, value)
    return hints


def _sources(got: Gathered, file: str, content: str, sources: list[dict[str, Any]]) -> None:
    lines = content.split("\n")
    heads = [n for n, text in enumerate(lines, 1) if re.match(r"\s*\[\[tool\.poetry\.source\]\]", text)]
    for number, source in enumerate(sources):
        first = heads[number] if number < len(heads) else 1
        last = first
        while last < len(lines) and lines[last].strip() and not lines[last].lstrip().startswith("["):
            last += 1
        url = str(source.get("url", ""))
        explicit = source.get("priority") == "explicit"
        users = (
            "the packages that name it come from there only" if explicit else "used beside the default index"
        )
        text = f"source `{source.get('name')}` at `{url}`: {users}"
        got.find("named-source", file, text, *range(first, last + 1))
        if has_secret(url):
            remedy = "take the login out of the file; put it into ~/.netrc"
            got.find("credentials", file, f"login in `{url}`", first, severity=ERROR, remedy=remedy)
        kind = "index" if source.get("default") or source.get("priority") == "default" else "extra-index"
        got.sources.append(Source(kind=kind, url=url, name=str(source.get("name", "")), explicit=explicit))


def _dependency(got: Gathered, file: str, line: int, name: str, value: Any) -> None:
    if isinstance(value, list):
        for one in value:
            _dependency(got, file, line, name, one)
        return
    table = {"version": value} if isinstance(value, str) else dict(value)
    if table.get("optional"):
        got.find("extras", file, f"`{name}` is optional and left out", line, severity="note")
        return
    if "git" in table or "path" in table or "url" in table:
        _elsewhere(got, file, line, name, table)
        return
    extras = f"[{','.join(table.get('extras', []))}]" if table.get("extras") else ""
    marker = _marker(table)
    spec = _range(got, file, line, str(table.get("version", "*")))
    before = len(got.requirements)
    spec = spec if not spec or spec[0] in "<>=!~" else f" {spec}"
    add(got, file, line, f"{name}{extras}{spec}{' ; ' + marker if marker else ''}")
    if table.get("source") and len(got.requirements) > before:
        made = got.requirements.pop()
        fields = {f: getattr(made, f) for f in made.__struct_fields__}
        got.requirements.append(Requirement(**{**fields, "source": str(table["source"])}))


def _elsewhere(got: Gathered, file: str, line: int, name: str, table: dict[str, Any]) -> None:
    revision = table.get("rev") or table.get("tag") or table.get("branch")
    if "path" in table:
        text = str(table["path"])
        text = text if text.startswith((".", "/")) else f"./{text}"
    elif "url" in table:
        text = f"{name} @ {table['url']}"
    else:
        text = f"git+{table['git']}" + (f"@{revision}" if revision else "") + f"#egg={name}"
    try:
        got.requirements.append(
            requirement_of(text, got.root, file, line, editable=bool(table.get("develop")))
        )
    except BadLine as problem:
        got.find("bad-line", file, str(problem), line, severity=ERROR)


def _marker(table: dict[str, Any]) -> str:
    parts = [str(table["markers"])] if table.get("markers") else []
    if table.get("platform"):
        parts.append(f'sys_platform == "{table["platform"]}"')
    if table.get("python"):
        parts += [
            f'python_version {m.group(1)} "{m.group(2)}"'
            for m in re.finditer(r"([<>=!~]=?)\s*([\d.]+)", expand(str(table["python"])))
        ]
    return " and ".join(parts)


def _range(got: Gathered, file: str, line: int, text: str) -> str:
    made = expand(text)
    for sign, code in (("^", "caret-range"), ("~", "tilde-range")):
        if text.strip().startswith(sign) and not text.strip().startswith("~="):
            got.find(code, file, f"{text} is {made}", line)
    return made


def expand(text: str) -> str:
    """Poetry's range in pip's words: `^2.0` as `>=2.0,<3`.

    Source: Poetry documentation, dependency specification.
    """
    if "||" in text or " | " in text:
        return _hull([expand(part) for part in re.split(r"\s*\|\|?\s*", text)])
    return ",".join(filter(None, (_one(part.strip()) for part in text.split(","))))


def _hull(ranges: list[str]) -> str:
    """The range around several: `>=3.8,<4` of `>=3.8,<3.9` and `>=3.9,<4`."""
    from packaging.version import Version

    low = [m[1] for r in ranges if (m := re.search(r">=\s*([\d.]+)", r) or re.fullmatch(r"==([\d.]+)", r))]
    high = [m[1] for r in ranges if (m := re.search(r"<\s*([\d.]+)", r))]
    parts = [f">={min(low, key=Version)}"] if len(low) == len(ranges) else []
    parts += [f"<{max(high, key=Version)}"] if len(high) == len(ranges) else []
    return ",".join(parts)


def _one(text: str) -> str:
    if text in ("*", ""):
        return ""
    if not re.search(r"\d", text):
        return text
    if text.startswith("^"):
        return f">={text[1:]},<{_above(text[1:], caret=True)}"
    if text.startswith("~") and not text.startswith("~="):
        return f">={text[1:]},<{_above(text[1:], caret=False)}"
    if re.match(r"\d", text):
        return f"=={text}"
    return text.replace(" ", "")


def _above(version: str, *, caret: bool) -> str:
    parts = [int(p) for p in re.findall(r"\d+", version)[:3]]
    if caret:
        keep = next((i for i, p in enumerate(parts) if p), len(parts) - 1)
    else:
        keep = 1 if len(parts) > 1 else 0
    return ".".join(str(p) for p in [*parts[:keep], parts[keep] + 1])
