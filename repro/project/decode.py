"""Strict decoding of the settings: every mistake with its place, what was found and what is needed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import msgspec

from repro.errors import ReproError
from repro.model.project import SCHEMA, Settings
from repro.model.record import Record
from repro.project.place import line_of, nearest


@dataclass(frozen=True)
class Source:
    """A settings file: `prefix` is `tool.repro.` inside pyproject.toml, else empty."""

    name: str
    text: str
    prefix: str = ""

    def at(self, dotted: str) -> str:
        """The place of a dotted setting, as `repro.toml, line 12`."""
        line = line_of(self.text, self.prefix + dotted)
        return f"`{self.name}`, line {line}" if line else f"`{self.name}`"


_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_PROBLEM = re.compile(r"^(?P<text>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<needs>[^`]+)`, got `(?P<found>[^`]+)`")
_ENUM = re.compile(r"Invalid enum value (?P<found>.+)$")


def decode(data: Mapping[str, Any], source: Source) -> Settings:
    """Return the settings that `data` holds.

    Raises:
        config-schema-newer: the file was written for a later version of this tool.
        config-unknown-key: a key that no setting has.
        config-type: a value of the wrong type, or not one of the allowed words.
    """
    _check_schema(data, source)
    _check_keys(data, Settings, "", source)
    try:
        return msgspec.convert(data, Settings, strict=True)
    except msgspec.ValidationError as problem:
        raise _type_error(str(problem), data, source) from None


def _check_schema(data: Mapping[str, Any], source: Source) -> None:
    schema = data.get("schema", SCHEMA)
    if isinstance(schema, int) and not isinstance(schema, bool) and schema > SCHEMA:
        raise ReproError(
            "config-schema-newer",
            f"{source.at('schema')}: the settings are written for a newer version of this tool",
            found=f"schema = {schema}",
            needs=f"schema {SCHEMA} or older",
            tries="python -m pip install --upgrade reprobundle",
        )


def _check_keys(data: Mapping[str, Any], record: type[Record], at: str, source: Source) -> None:
    known = get_type_hints(record)
    for key, value in data.items():
        dotted = f"{at}{key}"
        if key not in known:
            raise unknown_key(dotted, list(known), source.at(dotted))
        if _is_record(known[key]) and isinstance(value, Mapping):
            _check_keys(value, known[key], f"{dotted}.", source)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


def unknown_key(dotted: str, known: list[str], place: str) -> ReproError:
    """The error for a key that no setting has, with the likely one."""
    table, _, key = dotted.rpartition(".")
    guess = nearest(key, known)
    elsewhere = "" if guess else next((d for d in keys() if d.rpartition(".")[2] == key), "")
    meant = f"{table}.{guess}" if guess and table else guess or elsewhere
    return ReproError(
        "config-unknown-key",
        f"{place}: there is no setting `{dotted}`",
        found=dotted,
        needs="one of: " + ", ".join(known),
        why="an unknown setting would be passed over in silence",
        tries=f"write `{meant}` instead, if that was meant" if meant else f"remove `{dotted}`",
    )


def keys() -> dict[str, Any]:
    """Every dotted setting with its type, in the order of the file."""
    found: dict[str, Any] = {}
    for key, kind in get_type_hints(Settings).items():
        inner = get_type_hints(kind) if _is_record(kind) else None
        found |= {f"{key}.{k}": v for k, v in inner.items()} if inner is not None else {key: kind}
    return found


def _type_error(text: str, data: Mapping[str, Any], source: Source) -> ReproError:
    match = _PROBLEM.match(text)
    path = re.sub(r"\[.*", "", (match and match["path"]) or "")
    place = source.at(path)
    value = _value_at(data, path)
    if enum := _ENUM.search(match["text"] if match else text):
        allowed = [str(w) for w in get_args(keys().get(path))]
        guess = nearest(enum["found"].strip("'\""), allowed)
        needs = "one of: " + ", ".join(allowed)
        tries = f'{path.rpartition(".")[2]} = "{guess or allowed[0]}"'
        return ReproError(
            "config-type",
            f"{place}: `{path}` has a value that it cannot have",
            found=repr(value),
            needs=needs,
            tries=tries,
        )
    expected = _EXPECTED.search(text)
    needs = (
        " or ".join(_WORDS.get(w.strip(), w.strip()) for w in expected["needs"].split("|"))
        if expected
        else text
    )
    found = f"{value!r}" + (f" ({_WORDS.get(expected['found'], expected['found'])})" if expected else "")
    tries = f'put the value in quotes: {path.rpartition(".")[2]} = "{value}"' if needs == "text" else ""
    return ReproError(
        "config-type",
        f"{place}: `{path}` has a value of the wrong type",
        found=found,
        needs=needs,
        tries=tries,
    )


def _value_at(data: Any, path: str) -> Any:
    for part in path.split("."):
        data = data.get(part) if isinstance(data, Mapping) else None
    return data
