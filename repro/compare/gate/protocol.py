"""The gate: may these runs be compared at all? Names every declared thing that differs.

Three classes (divergence.md, section 4): what must be equal, what may differ as the factor under
study, and what is only recorded.
"""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from repro import redact
from repro.compare.equal import same_value
from repro.compare.gate import policy
from repro.compare.gate.command import command_differences
from repro.compare.side import Side, only_one
from repro.model.record import Json
from repro.model.run import RunFolder
from repro.model.verdict import ProtocolDifference

MUST, FACTOR, RECORDED = policy.MUST, policy.FACTOR, policy.RECORDED

_DIGESTS = {
    "tree": MUST,
    "patch": MUST,
    "eval": MUST,
    "params": MUST,
    "protocol": MUST,
    "lock": FACTOR,
    "base": FACTOR,
    "runtime": FACTOR,
}
# Digests that stand for values which are compared one by one, where both sides have them.
_SPELLED_OUT = {"params": "params", "protocol": "protocol"}
# Where in its repository a project lies is no part of what it computes.
_SPEC_RECORDED = ("schema", "name", "command", "subfolder")
# For which cards extensions are compiled may move the last bit, and is what a comparison of cards is about.
_SPEC_FACTORS = ("arch_list",)


def differences(a: Side, b: Side, allow: Collection[str]) -> list[ProtocolDifference]:
    """Everything declared that differs, what must be equal first, then by name.

    `allow` holds keys, or leading parts of dotted keys, of things that may differ nevertheless.
    """
    declared = {row.key: row for part in _PARTS for row in part(a.run, b.run)}
    found = {row.key: row for row in policy.differences(a, b, list(declared.values()))} | declared
    order = [MUST, FACTOR, RECORDED]
    marked = [
        msgspec.structs.replace(row, allowed=row.class_ == MUST and any(covers(k, row.key) for k in allow))
        for row in found.values()
    ]
    return sorted(marked, key=lambda row: (order.index(row.class_), row.key))


def forbids(rows: list[ProtocolDifference]) -> bool:
    """Whether a difference stands that must not be."""
    return any(row.class_ == MUST and not row.allowed for row in rows)


def covers(allowed: str, key: str) -> bool:
    """Whether an allowed key is `key` or a leading part of it, cut at a dot."""
    return key == allowed or key.startswith(f"{allowed}.")


def unknown_parts(a: Side, b: Side) -> list[str]:
    """What must be equal and stands in neither run, so that nothing was checked."""
    said = []
    if not a.run.identity and not b.run.identity:
        said.append("code: runs of a bare command; only files named on the command line were compared")
    if not a.run.params and not b.run.params:
        said.append("parameters: neither run recorded any values")
    if not a.run.protocol and not b.run.protocol:
        said.append("protocol: precision, batch and metric were declared by neither run")
    return said


def _digests(a: RunFolder, b: RunFolder) -> Iterator[ProtocolDifference]:
    for name in dict.fromkeys([*_DIGESTS, *sorted({*a.identity, *b.identity})]):
        x, y = a.identity.get(name), b.identity.get(name)
        if x != y and not _told_by_values(name, a, b):
            yield _row(f"identity.{name}", x, y, _DIGESTS.get(name, MUST))


def _told_by_values(name: str, a: RunFolder, b: RunFolder) -> bool:
    field = _SPELLED_OUT.get(name)
    return bool(field and getattr(a, field) and getattr(b, field))


def _params(a: RunFolder, b: RunFolder) -> Iterator[ProtocolDifference]:
    if side := only_one(a, b, lambda run: run.params):
        yield _row("params", *_known_in(side, "recorded"), MUST)
    elif a.params:
        yield from _values("params", a.params, b.params)


def _protocol(a: RunFolder, b: RunFolder) -> Iterator[ProtocolDifference]:
    if _same_digest(a, b, "protocol"):
        return
    if side := only_one(a, b, lambda run: run.protocol):
        yield _row("protocol", *_known_in(side, "declared"), MUST)
        return
    yield from _values("protocol", _table(a), _table(b))
    yield from _values("settings", _rest(a), _rest(b))
    for name in _SPEC_FACTORS:
        if a.protocol.get(name) != b.protocol.get(name):
            yield _row(f"settings.{name}", a.protocol.get(name), b.protocol.get(name), FACTOR)
    if a.protocol.get("name") != b.protocol.get("name"):
        yield _row("name", a.protocol.get("name"), b.protocol.get("name"), RECORDED)


def _same_digest(a: RunFolder, b: RunFolder, name: str) -> bool:
    return name in a.identity and a.identity[name] == b.identity.get(name)


def _known_in(side: str, word: str) -> tuple[str | None, str | None]:
    return (word, None) if side == "a" else (None, word)


def _table(run: RunFolder) -> Json:
    table = run.protocol.get("protocol")
    return table if isinstance(table, dict) else {}


def _rest(run: RunFolder) -> Json:
    return {k: v for k, v in run.protocol.items() if k not in (*_SPEC_RECORDED, *_SPEC_FACTORS, "protocol")}


def _values(prefix: str, a: Json, b: Json) -> Iterator[ProtocolDifference]:
    """One row a leaf that differs; a missing one counts as None."""
    for name in sorted({*a, *b}):
        x, y = a.get(name), b.get(name)
        key = f"{prefix}.{name}"
        if isinstance(x, dict) and isinstance(y, dict) and "$float" not in {*x, *y}:
            yield from _values(key, x, y)
        elif not same_value(x, y):
            yield _row(key, x, y, MUST)


def _command(a: RunFolder, b: RunFolder) -> Iterator[ProtocolDifference]:
    for key, x, y, factor in command_differences(a, b):
        yield _row(key, x, y, FACTOR if factor else MUST)


def _environment(a: RunFolder, b: RunFolder) -> Iterator[ProtocolDifference]:
    for name in sorted({*a.attempt.environment, *b.attempt.environment}):
        x, y = a.attempt.environment.get(name), b.attempt.environment.get(name)
        if x != y:
            yield _row(f"environment.{name}", _hidden(name, x), _hidden(name, y), FACTOR)


def _hidden(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    return redact.MASK if redact.is_secret_name(name) else redact.text(value)


def _labels(a: RunFolder, b: RunFolder) -> Iterator[ProtocolDifference]:
    for key in ("label", "engine"):
        x, y = getattr(a.attempt, key), getattr(b.attempt, key)
        if x != y:
            yield _row(key, x, y, RECORDED)


def _row(key: str, a: Any, b: Any, class_: str) -> ProtocolDifference:
    return ProtocolDifference(key=key, a=a, b=b, class_=class_)


_PARTS = (_digests, _params, _protocol, _command, _environment, _labels)
