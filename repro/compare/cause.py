"""Names a likely cause where a difference in the record and the first signal fit a known pattern."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from repro.compare.measured import Measured
from repro.model.record import Json
from repro.model.verdict import Condition, ProtocolDifference

BUFFERS_ALONE = "buffers alone"  # stands for what the measurement found, among names of what was declared


@dataclass(frozen=True)
class Rule:
    """One row of `data/causes.toml`."""

    code: str
    first: list[str]
    differs: list[str]
    why: str
    pin: str
    source: str


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in order: the first that fits counts."""
    text = (files("repro") / "data" / "causes.toml").read_text("utf-8")
    return tuple(Rule(**row) for row in tomllib.loads(text)["cause"])


def likely(found: Measured, protocol: list[ProtocolDifference], conditions: list[Condition]) -> Json | None:
    """The likely cause {code, why, pin, because, also}, or None when nothing known fits.

    `because` names what differs and led to it. `also` names other differences, of the protocol or of
    high risk, that could change the numbers just as well: while there are any, nothing is proven.
    """
    first = found.first
    if first is None:
        return None
    names = [BUFFERS_ALONE] if found.buffers_alone else []
    names += [f"unseeded generator: {name}" for name in found.unseeded]
    names += [row.key for row in protocol if row.class_ != "recorded"] + [row.key for row in conditions]
    rivals = [row.key for row in protocol if row.class_ == "must-equal"]
    rivals += [row.key for row in conditions if row.risk == "high"]
    for rule in rules():
        because = [name for name in names if any(fnmatchcase(name, pattern) for pattern in rule.differs)]
        if first.signal in rule.first and because:
            also = [name for name in rivals if name not in because]
            return {"code": rule.code, "why": rule.why, "pin": rule.pin, "because": because, "also": also}
    return None
