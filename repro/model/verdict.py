"""The answer of a comparison, with the evidence for it."""

from typing import Any

from repro.model.record import Record

NUMERICS = ("identical", "within-rounding", "beyond-rounding", "untested")
OUTCOMES = ("equivalent", "different-but-equivalent", "diverged", "inconclusive", "untested")
SIGNALS = ("init", "samples", "rng", "forward", "loss", "gradient", "update", "weights", "eval")


class ProtocolDifference(Record, kw_only=True):
    """A declared thing that differs. `class_` is must-equal, factor or recorded."""

    key: str
    a: Any
    b: Any
    class_: str
    allowed: bool = False


class Condition(Record, kw_only=True):
    """A condition that differs between the runs; `risk` is high, medium, low or none."""

    key: str
    a: Any
    b: Any
    risk: str
    why: str = ""


class First(Record, kw_only=True):
    """Where the runs part: the earliest signal in causal order, at its step."""

    signal: str
    step: int
    module: str = ""


class Signal(Record, kw_only=True):
    """One signal: number of values compared, first step that differs, largest difference.

    `largest` is absolute, as a JSON number or None where a size has no meaning (hashes).
    """

    compared: int
    first_step: int | None = None
    largest: float | None = None
    largest_relative: float | None = None


class MetricRow(Record, kw_only=True):
    """A final metric of both runs beside the margin that was declared beforehand."""

    name: str
    a: str
    b: str
    difference: str
    margin: float | None = None
    declared: bool = False


class Verdict(Record, kw_only=True):
    """`verdict` is the strongest word that holds; see architecture A8."""

    schema: int = 1
    verdict: str
    numerics: str
    outcome: str
    a: str
    b: str
    first: First | None
    signals: dict[str, Signal]
    protocol_differences: list[ProtocolDifference]
    conditions_that_differ: list[Condition]
    metrics: list[MetricRow]
    flips: dict[str, int] | None
    cause: dict[str, Any] | None
    evidence: list[str]
    not_controlled: list[str]
