"""The noise envelope: how far runs of the reference that differ by rounding alone move from it, step by step.

Source of the rule: divergence.md 3.2; the factor is that of probtest (MeteoSwiss).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from repro.compare.gate import protocol
from repro.compare.lines.pair import Pair
from repro.compare.rounding.answer import BEYOND, UNTESTED, WITHIN, Answer
from repro.compare.rounding.unit import Unit, limit
from repro.compare.side import Side, names
from repro.compare.signals.align import aligned, by_part
from repro.compare.signals.walk import distance
from repro.model.verdict import Envelope, EnvelopeRow

FACTOR, FAR = 5.0, 50.0
JUDGED = range(1, 17)
ENOUGH, PLENTY = 3, 8
_SUDDEN = 32.0  # times, from one sampled step to the next; rounding without a jump grew by less than 5

Distances = Mapping[int, float | None]


@dataclass(frozen=True)
class Members:
    """Distances of each noise member from the reference, and what is to be said of runs that are none."""

    distances: Sequence[Distances] = ()
    notes: tuple[str, ...] = ()


def members_of(a: Side, runs: Iterable[Side], unit: Unit) -> Members:
    """The runs that are noise members of `a`: of its protocol, and from its weights up to rounding."""
    kept: list[Distances] = []
    notes = []
    for run in runs:
        found = distances(_first_training(a, run))
        if why := _foreign(a, run, found, unit):
            reference, member = names(a, run)
            notes.append(f"{member} is no noise member of {reference}: {why}")
        else:
            kept.append(found)
    return Members(kept, tuple(notes))


def distances(pairs: Iterable[Pair]) -> dict[int, float | None]:
    """Relative distance of the weights at each common snapshot: the largest over the processes of a training.

    None where a process has none that can be told, such as with NaN in it.
    """
    found: dict[int, float | None] = {}
    for pair in pairs:
        for step in pair.snapshots:
            size, known = distance(*pair.shots(step)), found.get(step, 0.0)
            found[step] = None if size is None or known is None else max(size, known)
    return found


def envelope(found: Distances, members: Members, unit: Unit) -> Envelope:
    """The distances `found` beside the largest of the members, and the word for how they grow."""
    growth, jump = grows(found, unit)
    rows = [_row(step, found[step], _largest(step, members)) for step in sorted(found)]
    return Envelope(members=len(members.distances), factor=FACTOR, growth=growth, jump=jump, rows=rows)


def grows(found: Distances, unit: Unit) -> tuple[str, int | None]:
    """`none`, `rounding` or `jump` with the first jump's step; empty without a distance.

    No exponent is fitted: between jumps the growth is no smooth exponential (divergence.md 2.7).
    """
    steps = [(step, size) for step in sorted(found) if (size := found[step]) is not None]
    apart = [(step, size) for step, size in steps if size > 0]
    before = 0.0
    for step, size in apart:
        large = limit("beyond") * unit.weights(0.0, step - apart[0][0] + 1)
        if size > large and size > _SUDDEN * before:
            return "jump", step
        before = size
    return ("rounding" if apart else "none" if steps else ""), None


def by_members(found: Envelope) -> Answer | None:
    """The answer that noise members give; None, with fewer than three or where they did not move."""
    held = [(row.step, row.ratio) for row in found.rows if row.judged and row.ratio is not None]
    if found.members < ENOUGH or not held:
        return None
    outside = [step for step, ratio in held if ratio > FACTOR]
    far = [step for step, ratio in held if ratio > FAR]
    worst, ratio = max(held, key=lambda item: item[1])
    said = (
        f"distance of the weights at {len(held)} sampled steps of 1-16, held against {found.members} noise "
        f"members: {len(outside)} above {FACTOR:g} times their largest, the worst {ratio:.3g} at step {worst}"
    )
    if far or len(outside) > 1:
        return Answer(BEYOND, "members", (said,))
    if missing := [
        row.step for row in found.rows if row.step in JUDGED and row.distance and row.envelope is None
    ]:
        more = f"{len(missing)} more of these steps have fewer than {ENOUGH} members: record them to step 16"
        return Answer(UNTESTED, "members", (said, more))
    if outside:
        command = f"`repro run --make-reference --members {PLENTY}`"
        more = f"one step alone is outside: take {PLENTY} members, {command}"
        return Answer(UNTESTED, "members", (said, more))
    return Answer(WITHIN, "members", (said,))


def why_no_answer(found: Envelope) -> list[str]:
    """Why members that are there gave no answer, as sentences; empty where there are none."""
    if not found.members:
        return []
    if found.members < ENOUGH:
        return [f"noise members: {found.members}, and {ENOUGH} are needed: no answer by members"]
    known = [row.envelope for row in found.rows if row.step in JUDGED and row.envelope is not None]
    if known and not any(known):
        return [
            "noise members have the reference's weights in every bit: nothing moved them, they tell nothing"
        ]
    return ["no sampled step of 1-16 is common to the runs and the noise members: no answer by members"]


def spread_at_first(found: Envelope) -> tuple[int, float] | None:
    """First judged step at which the members moved, and how far."""
    moved = ((row.step, row.envelope) for row in found.rows if row.step in JUDGED and row.envelope)
    return next(moved, None)


def _row(step: int, size: float | None, largest: float | None) -> EnvelopeRow:
    ratio = size / largest if size is not None and largest else None
    return EnvelopeRow(
        step=step,
        distance=size,
        envelope=largest,
        ratio=ratio,
        judged=step in JUDGED and size is not None and largest is not None,
    )


def _largest(step: int, members: Members) -> float | None:
    """Largest distance of a member at a step, where at least three members have one."""
    known = [size for each in members.distances if (size := each.get(step)) is not None]
    return max(known) if len(known) >= min(ENOUGH, len(members.distances)) and known else None


def _first_training(a: Side, b: Side) -> list[Pair]:
    x, y = by_part(a.traces), by_part(b.traces)
    places = [aligned(x[name], y[name])[:1] for name in x if name in y]
    return [Pair.of(first, second) for part in places for first, second in part if first and second]


def _foreign(a: Side, run: Side, found: Distances, unit: Unit) -> str:
    refused = [row.key for row in protocol.differences(a, run, ()) if row.class_ == protocol.MUST]
    if refused:
        return f"it differs in {', '.join(refused)}"
    start = min(found, default=None)
    size = None if start is None else found[start]
    if start is None or size is None:
        return "it has no snapshot that could be compared"
    if start not in (0, 1) or size > unit.weights(0.0):
        return f"its weights are {size:.1e} away at step {start}, where it should start from the reference's"
    return ""
