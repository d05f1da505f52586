"""Reads and writes parameter files: JSON, YAML and TOML, each as Python's usual reader of it does."""

import codecs
import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from repro.errors import ReproError
from repro.model.snapshot import Warned
from repro.snapshot.duplicates import Twice, in_json, in_toml, in_yaml
from repro.snapshot.names import shown
from repro.snapshot.tagged import encode
from repro.snapshot.tomltext import dump as toml_text
from repro.snapshot.yamldoubts import doubts

SUFFIXES = (".json", ".yaml", ".yml", ".toml")
_MOST_VALUES = 100_000
_CONFLICT = re.compile(r"^<{7} .*\n(?:.*\n)*?={7}$", re.MULTILINE)


@dataclass(frozen=True)
class Parsed:
    """What a parameter file says."""

    values: dict[Any, Any]
    warnings: list[Warned]


def parse(name: str, suffix: str, data: bytes) -> Parsed:
    """Values of a parameter file, read as json, PyYAML's SafeLoader and tomllib read them.

    Raises:
        params-format: not text, not of that format, or no table of values.
        params-duplicate-key: a key stands twice.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        mark = (
            " (it begins like UTF-16)" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ""
        )
        raise _bad(name, f"byte {problem.start} is not UTF-8{mark}", "a text file in UTF-8") from None
    if torn := _CONFLICT.search(text):
        line = text.count("\n", 0, torn.start()) + 1
        raise _bad(name, f"line {line}: a conflict that git left behind (<<<<<<<)", "one of the two sides")
    try:
        parsed = _READERS[suffix](name, text)
        encode(parsed.values)
    except UnicodeEncodeError:
        raise _bad(name, "text with half of a surrogate pair", "whole characters") from None
    except RecursionError:
        raise _bad(
            name, "it contains itself, or is nested very deeply", "values that end somewhere"
        ) from None
    if not isinstance(parsed.values, dict):
        raise _bad(name, f"a {type(parsed.values).__name__} at the top", "named values at the top")
    return parsed


def _json(name: str, text: str) -> Parsed:
    try:
        values = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as problem:
        found = f"line {problem.lineno}, column {problem.colno}: {problem.msg}"
        raise _bad(name, found, "JSON, which has no comments and no comma after the last item") from None
    _refuse_twice(name, in_json(text))
    return Parsed(values, [])


def _toml(name: str, text: str) -> Parsed:
    try:
        return Parsed(tomllib.loads(text), [])
    except tomllib.TOMLDecodeError as problem:
        _refuse_twice(name, in_toml(text, problem))
        raise _bad(name, str(problem), "TOML") from None


def _yaml(name: str, text: str) -> Parsed:
    import yaml

    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as problem:
        raise _bad(
            name, " ".join(str(problem).split()), "YAML, in which text has no control characters"
        ) from None
    try:
        node = loader.get_single_node()
        _refuse_twice(name, in_yaml(node))
        warnings = doubts(node, yaml.SafeLoader("").construct_object)
        values = loader.construct_document(node) if node is not None else {}
        return Parsed({} if values is None else _copy(name, values, [0]), warnings)
    except (yaml.YAMLError, ValueError, TypeError) as problem:
        raise _bad(
            name, " ".join(str(problem).split()), "YAML with one document, without tags of a program"
        ) from None
    finally:
        loader.dispose()


def _copy(name: str, value: Any, count: list[int]) -> Any:
    """The value with nothing shared, so that an override changes one place and not each alias of it."""
    count[0] += 1
    if count[0] > _MOST_VALUES:
        raise _bad(name, f"more than {_MOST_VALUES} values, aliases written out", "parameters, not data")
    if isinstance(value, dict):
        return {k: _copy(name, v, count) for k, v in value.items()}
    return [_copy(name, v, count) for v in value] if isinstance(value, (list, tuple)) else value


_READERS = {".json": _json, ".yaml": _yaml, ".yml": _yaml, ".toml": _toml}


def _refuse_twice(name: str, found: list[Twice]) -> None:
    if found:
        said = [f"{shown(t.key)} on lines {' and '.join(map(str, t.lines))}" for t in found]
        raise ReproError(
            "params-duplicate-key",
            f"`{shown(name)}` sets the same parameter more than once: {', '.join(said)}",
            found=said,
            needs="each parameter once",
            why="readers take the last one without a word; which one is meant cannot be known",
            done="nothing was packed",
            tries=f"remove all but one of them from `{shown(name)}`",
        )


def _bad(name: str, found: str, needs: str) -> ReproError:
    return ReproError(
        "params-format",
        f"the parameter file `{shown(name)}` cannot be read",
        found=found,
        needs=needs,
        done="nothing was packed",
        tries=f'correct `{shown(name)}`, or name another file: params.file = "..." in repro.toml',
    )


def render(suffix: str, values: dict[Any, Any]) -> bytes:
    """Text of a parameter file with these values; comments of an earlier file are gone."""
    if suffix == ".json":
        return json.dumps(values, indent=1, ensure_ascii=False).encode() + b"\n"
    if suffix == ".toml":
        return toml_text(values).encode()
    import yaml

    return yaml.safe_dump(values, sort_keys=False, allow_unicode=False, width=10_000).encode()
