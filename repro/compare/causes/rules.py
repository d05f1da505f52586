"""The rules of `data/causes.toml`, the facts they ask for in words, and what to record next."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Rule:
    """One row; its file says what each field means."""

    code: str
    why: str
    pin: str
    source: str
    first: list[str] = field(default_factory=list)
    when: list[str] = field(default_factory=list)
    any: list[str] = field(default_factory=list)
    unless: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    proof: list[str] = field(default_factory=list)
    at_most: str = ""
    asked: bool = False
    last_bits: bool = False

    def matching(self, patterns: list[str], names: Iterable[str]) -> list[str]:
        """The names that a pattern matches, in their order."""
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in order: the first that fits counts."""
    return tuple(Rule(**row) for row in _table()["cause"])


def moves_last_bits(cause: dict[str, Any]) -> bool:
    """Whether a cause that was named moves last bits only, and nothing else that differs is in question."""
    known = {rule.code for rule in rules() if rule.last_bits}
    return cause["code"] in known and cause["sure"] in ("proven", "likely") and not cause["also"]


def next_commands(signal: str) -> list[str]:
    """What to run where the cause is not sure, by the signal that differs first; {a} and {b} are folders."""
    return list(_table()["next"].get(signal, []))


def says(facts: Iterable[str]) -> list[str]:
    """Facts as sentences; one without is left out, since it only names what stands in `because` already."""
    words: dict[str, str] = _table()["facts"]
    return [words[fact] for fact in facts if fact in words]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("repro") / "data" / "causes.toml").read_text("utf-8"))
