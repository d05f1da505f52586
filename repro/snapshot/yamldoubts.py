"""YAML values that readers of YAML 1.1 and 1.2 disagree on, found in the text before it is read.

PyYAML reads 1.1 (https://yaml.org/type/); most other readers read the core schema of 1.2.2, section 10.3.
"""

import re
from collections.abc import Iterator
from typing import Any

from repro.model.snapshot import Warned
from repro.snapshot.names import shown

_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"

# Kind of value as PyYAML reads it, how it is written, a short name, and what is said about it.
_DOUBTS = (
    (
        "str",
        re.compile(_NUMBER),
        "params-text-number",
        'is the text "{text}" for PyYAML and a number elsewhere; write {better}',
    ),
    (
        "str",
        re.compile(r"[-+]?0o[0-7]+"),
        "params-yaml-versions",
        "is text in YAML 1.1 and a number in YAML 1.2",
    ),
    (
        "bool",
        re.compile(r"(?i:yes|no|on|off)"),
        "params-yaml-versions",
        "is {value} in YAML 1.1 and text in YAML 1.2",
    ),
    (
        "int",
        re.compile(r"[-+]?0[0-7_]+"),
        "params-yaml-versions",
        "is {value} in YAML 1.1 (octal) and {decimal} in YAML 1.2",
    ),
    (
        "int",
        re.compile(r"[-+]?0b[01_]+|.*[_:].*"),
        "params-yaml-versions",
        "is {value} in YAML 1.1 and text in YAML 1.2",
    ),
    ("float", re.compile(r".*[_:].*"), "params-yaml-versions", "is {value} in YAML 1.1 and text in YAML 1.2"),
    (
        "timestamp",
        re.compile(r".*"),
        "params-date",
        "is a date in YAML 1.1 and text in YAML 1.2; put it in quotes",
    ),
)


def doubts(node: Any, values: Any) -> list[Warned]:
    """Warnings for the scalars below a composed YAML node.

    Args:
        node: the document's root.
        values: a function that gives the value PyYAML makes of a scalar node.
    """
    return [w for path, scalar in _scalars(node, "", set()) for w in _doubt(path, scalar, values)]


def _scalars(node: Any, at: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node.value, str):
        yield at, node
        return
    for number, item in enumerate(node.value):
        key, inner = item if isinstance(item, tuple) else (None, item)
        if key is not None and key.tag.endswith(":merge"):
            continue  # the mapping is named where it is written
        name = str(number) if key is None else str(key.value)
        yield from _scalars(inner, f"{at}.{name}" if at else name, seen)


def _doubt(path: str, node: Any, values: Any) -> Iterator[Warned]:
    kind = node.tag.rpartition(":")[2]
    if node.style is not None:
        return
    for of, pattern, code, text in _DOUBTS:
        if kind == of and pattern.fullmatch(node.value):
            words = text.format(
                text=node.value,
                value=_word(values(node)),
                better=_better(node.value),
                decimal=_decimal(node.value),
            )
            where = f"line {node.start_mark.line + 1}"
            yield Warned(code=code, where=where, text=f"{shown(path)} ({shown(node.value)}) {words}")
            return


def _word(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _better(text: str) -> str:
    """A spelling that every reader takes for the same number: a point, and a sign before the exponent."""
    mantissa, _, exponent = text.lower().partition("e")
    mantissa = f"0{mantissa}" if mantissa.startswith(".") else mantissa
    mantissa += "" if "." in mantissa else ".0"
    mantissa += "0" if mantissa.endswith(".") else ""
    sign = "" if exponent[:1] in "+-" else "+"
    return f"{mantissa}e{sign}{exponent}" if exponent else mantissa


def _decimal(text: str) -> str:
    digits = text.replace("_", "").lstrip("+-").lstrip("0") or "0"
    return ("-" if text.startswith("-") else "") + digits
