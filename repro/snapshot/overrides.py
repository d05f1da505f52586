"""Applies `--set KEY=VALUE` to parameters: only known keys, and never with another type in silence."""

import difflib
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from repro.errors import ReproError
from repro.snapshot.names import shown


def split(sets: Sequence[str]) -> dict[str, str]:
    """Keys and values as typed.

    Raises:
        params-set: no `=`, or a key given twice.
    """
    found: dict[str, str] = {}
    for word in sets:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise _wrong(
                f"`--set {shown(word)}` is not KEY=VALUE",
                word,
                "a parameter, =, and its value",
                "--set lr=0.1",
            )
        if key.strip() in found:
            raise _wrong(f"`--set` names `{shown(key)}` twice", word, "each parameter once")
        found[key.strip()] = value
    return found


def apply(values: dict[Any, Any], given: dict[str, str]) -> dict[Any, Any]:
    """A copy of `values` with the given ones in their place.

    Raises:
        params-set-unknown: no such parameter.
        params-set: the value does not fit the type of the one it replaces.
    """
    values = deepcopy(values)
    for key, text in given.items():
        holder, last = _find(values, key)
        holder[last] = _typed(key, text, holder[last])
    return values


def _find(values: Any, dotted: str) -> tuple[Any, Any]:
    """The mapping or list that holds a dotted key, and the key in it."""
    for key, rest in _splits(values, dotted):
        if not rest:
            return values, key
        if isinstance(values[key], (dict, list)):
            try:
                return _find(values[key], rest)
            except ReproError:
                break
    known = list(_names(values))
    close = difflib.get_close_matches(dotted, known, n=1)
    raise ReproError(
        "params-set-unknown",
        f"there is no parameter `{shown(dotted)}`",
        found=dotted,
        needs="one of: " + ", ".join(known[:40]) + (", ..." if len(known) > 40 else ""),
        why="a mistyped name would have no effect",
        tries=f"--set {close[0]}=..." if close else "add it to the parameter file",
    )


def _splits(values: Any, dotted: str) -> Iterator[tuple[Any, str]]:
    """Keys of `values` that a dotted name may begin with, the longest first, and what is left of it."""
    named = enumerate(values) if isinstance(values, list) else values.items()
    keys = {str(k): k for k, _ in named}
    for name in sorted(keys, key=len, reverse=True):
        if dotted == name:
            yield keys[name], ""
        elif dotted.startswith(name + "."):
            yield keys[name], dotted[len(name) + 1 :]


def _names(values: Any, at: str = "") -> Iterator[str]:
    for key, value in enumerate(values) if isinstance(values, list) else values.items():
        yield f"{at}{key}"
        if isinstance(value, dict):
            yield from _names(value, f"{at}{key}.")


def _typed(key: str, text: str, old: Any) -> Any:
    if isinstance(old, str):
        return text
    new = _read(text)
    if old is None or type(new) is type(old):
        return new
    if isinstance(old, float) and isinstance(new, int) and not isinstance(new, bool):
        return float(new)
    # A whole number may become a fraction (lr: 1), but not true or text.
    if isinstance(old, int) and not isinstance(old, bool) and isinstance(new, float):
        return new
    kind = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    needs = kind.get(type(old), type(old).__name__)
    raise _wrong(
        f"`--set {shown(key)}={shown(text)}` is of another type than the parameter",
        text,
        f"{needs}, as in the file",
    )


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)


def _wrong(message: str, found: str, needs: str, tries: str = "") -> ReproError:
    return ReproError("params-set", message, found=found, needs=needs, done="nothing was packed", tries=tries)
