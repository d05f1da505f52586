"""Keys that stand twice in a parameter file, with their lines; readers would take the last one in silence."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True)
class Twice:
    """A dotted key and the lines (from 1) that set it."""

    key: str
    lines: tuple[int, ...]


def _repeated(keys: Iterator[tuple[str, int]]) -> list[Twice]:
    lines: dict[str, list[int]] = {}
    for key, line in keys:
        lines.setdefault(key, []).append(line)
    return [Twice(key, tuple(found)) for key, found in lines.items() if len(found) > 1]


def in_yaml(node: Any) -> list[Twice]:
    """Duplicate keys below a composed YAML node; merge keys (`<<`) do not count."""
    return _repeated(_yaml_keys(node, "", set()))


def _yaml_keys(node: Any, at: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    if node is None or isinstance(node.value, str) or id(node) in seen:
        return
    seen.add(id(node))
    for number, item in enumerate(node.value):
        key, inner = item if isinstance(item, tuple) else (None, item)
        name = str(number) if key is None else str(key.value)
        if key is not None and key.tag != "tag:yaml.org,2002:merge":
            yield f"{at}{name}", key.start_mark.line + 1
        yield from _yaml_keys(inner, f"{at}{name}.", seen)


def in_json(text: str) -> list[Twice]:
    """Duplicate keys of a JSON text that is known to be valid."""
    return _repeated(_json_keys(text))


def _json_keys(text: str) -> Iterator[tuple[str, int]]:
    # One frame an open bracket: the name that leads to the value being read, and the position in a list.
    stack: list[tuple[str, int | None]] = []
    last, line, end = "", 1, 0
    for token in _JSON_TOKEN.finditer(text):
        line += text.count("\n", end, token.start())
        end = token.start()
        word = token[0]
        if word in "{[":
            stack.append(("", None if word == "{" else 0))
        elif word in "}]":
            stack.pop()
        elif word == "," and stack and stack[-1][1] is not None:
            stack[-1] = ("", stack[-1][1] + 1)
        elif word == ":":
            stack[-1] = (last[1:-1], None)
            yield ".".join(name if number is None else str(number) for name, number in stack), line
        last = word


def in_toml(text: str, problem: tomllib.TOMLDecodeError) -> list[Twice]:
    """The duplicate that made tomllib refuse a text, or nothing when it refused for another reason."""
    at = re.search(r"at line (\d+)", str(problem))
    if not at or not re.search(
        "overwrite|twice|more than once|Duplicate|mutate", str(problem), re.IGNORECASE
    ):
        return []
    number = int(at[1])
    lines = text.splitlines()
    key = re.match(r"\s*(\[*\s*[\w.\"'-]+)", lines[number - 1])
    if not key:
        return []
    start = number - 1
    while start and not key[1].startswith("[") and not lines[start - 1].lstrip().startswith("["):
        start -= 1
    first = range(0 if key[1].startswith("[") else start, number - 1)
    same = re.compile(rf"\s*{re.escape(key[1])}\s*[=\].]")
    earlier = [n + 1 for n in first if same.match(lines[n])]
    return [Twice(key[1].strip("[ "), (*earlier, number))] if earlier else []
