"""The answer of a comparison, with the evidence for it."""

from typing import Any

from repro.model.record import Record

NUMERICS = ("identical", "within-rounding", "beyond-rounding", "untested")
BASES = ("bits", "members", "replay", "bound", "none")
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


class EnvelopeRow(Record, kw_only=True):
    """Relative distance of the weights at one step, beside the largest of the noise members.

    `ratio` is distance / envelope, None where the envelope is 0 or unknown; `judged` for steps 1 to 16.
    """

    step: int
    distance: float | None
    envelope: float | None = None
    ratio: float | None = None
    judged: bool = False


class Envelope(Record, kw_only=True):
    """How the distance grows; `members` is 0 when there is only the curve.

    `growth`: `none`, `rounding` (starts at rounding size and grows), `jump` (is large at once, or
    becomes so from one sampled step to the next), or empty. `jump`: step of the first jump.
    """

    members: int = 0
    factor: float = 5.0
    growth: str = ""
    jump: int | None = None
    rows: list[EnvelopeRow] = []


class ModuleRow(Record, kw_only=True):
    """One module call of a dense step on both sides, or one parameter's gradient.

    Attributes:
        kind: `equal`; `propagated` (its inputs or weights differ already); `rounding`, `algorithm`,
            `precision`, `defect` for an origin; `functional` for an operation between modules.
        relative: estimated relative difference of the outputs. tolerance: what rounding explains.
        fits: precisions that would explain it, such as `tf32`.
    """

    step: int
    n: int
    module: str
    class_: str = ""
    phase: str = "forward"
    kind: str
    inputs_equal: bool = True
    weights_equal: bool = True
    outputs_equal: bool = True
    relative: float | None = None
    tolerance: float | None = None
    fits: list[str] = []


class Replay(Record, kw_only=True):
    """Dense steps of both sides from one state: `origin` is where the difference arises first."""

    steps: list[int]
    origin: ModuleRow | None
    rows: list[ModuleRow] = []
    notes: list[str] = []


class Statistic(Record, kw_only=True):
    """One declared metric over several runs a side.

    Attributes:
        n: runs of each side; paired: by seed, with `correlation`.
        difference: mean of b minus mean of a; low, high: its 90 % interval.
        p_difference: two-sided, Holm-corrected. p_equivalence: of TOST at `margin`.
        predicted: 95 % prediction interval of the reference's runs for what b has.
        needed: runs a side that would settle it with probability 0.8, None when settled or unknown.
        floor: standard deviation that the finite evaluation set alone gives, None when unknown.
        outcome: as OUTCOMES.
    """

    metric: str
    n: tuple[int, int]
    paired: bool = False
    correlation: float | None = None
    mean: tuple[float, float]
    deviation: tuple[float | None, float | None]
    difference: float
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    p_difference: float | None = None
    p_equivalence: float | None = None
    predicted: tuple[float, float] | None = None
    floor: float | None = None
    needed: int | None = None
    outcome: str = "untested"


class Verdict(Record, kw_only=True):
    """`verdict` is the strongest word that holds; see architecture A8.

    Attributes:
        basis: what `numerics` rests on (BASES): equal bits, noise members, a replay, the a-priori bound
            of rounding.
        repeatable: False when two runs on one machine, nothing differing, are unequal.
        noise: disagreements of evaluation rows between members (`members`) and between seeds (`seeds`),
            each [lowest, highest], to be read beside `flips`; `members_discordant` and `seeds_discordant`
            count the examples that only one of two runs got right.
    """

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
    basis: str = "none"
    repeatable: bool | None = None
    envelope: Envelope | None = None
    replay: Replay | None = None
    statistics: list[Statistic] = []
    noise: dict[str, Any] = {}
