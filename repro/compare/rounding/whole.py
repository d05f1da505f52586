"""What stands between two runs and the word `identical`, as sentences; whether they cover what decides."""

from collections.abc import Iterable

from repro.compare.lines.pair import Pair
from repro.compare.rounding.bound import LAST
from repro.compare.side import Side
from repro.compare.signals.measured import Measured


def hindrances(a: Side, b: Side, found: Measured) -> list[str]:
    """Why the runs cannot be called identical; empty when they can."""
    return [*_unfinished(a, b), *_different(found), *_unequal_form(found), *_end(found)]


def enough(a: Side, b: Side, pairs: Iterable[Pair]) -> bool:
    """Whether the common steps reach to step 16, or to the end of whole runs."""
    return all(
        pair.last >= LAST or (a.run.complete and b.run.complete and pair.same_length) for pair in pairs
    )


def what_is_equal(found: Measured) -> str:
    """The values that were compared and are equal in every bit."""
    parts = [f"{signal.compared} of {name}" for name, signal in found.signals.items()]
    steps = found.steps()
    over = f"over {steps} steps, final weights included" if steps else "(no training step was recorded)"
    return f"equal in every bit {over}; values compared: {', '.join(parts)}"


def _unfinished(a: Side, b: Side) -> list[str]:
    sides = {"a": a, "b": b}
    said = [
        f"{name} did not finish ({_state(side)})" for name, side in sides.items() if not side.run.complete
    ]
    torn = [name for name, side in sides.items() if any(trace.torn for trace in side.traces)]
    return said + [f"the last line of a trace of {name} was cut" for name in torn]


def _state(side: Side) -> str:
    attempt = side.run.attempt
    last = max((segment.steps.last for trace in side.traces for segment in trace.segments), default=0)
    reason = f", {attempt.reason}" if attempt.reason else ""
    return f"status {attempt.status}{reason}, last recorded step {last}"


def _different(found: Measured) -> list[str]:
    names = [name for name, tally in found.tallies.items() if tally.differs and name != "eval"]
    said = [f"there are differences in {', '.join(names)}"] if names else []
    return said + (["the results differ"] if found.results.tally.differs else [])


def _unequal_form(found: Measured) -> list[str]:
    said = list(found.alone)
    for name, pair in found.pairs.items():
        if pair.a.begins != pair.b.begins:
            said.append(f"{name} begins at step {pair.a.begins} in a and {pair.b.begins} in b")
        elif not pair.same_length:
            said.append(f"{name} has {len(pair.a.steps)} steps in a and {len(pair.b.steps)} in b")
    return said + [f"{side} lacks results that the other run has" for side in found.results.tally.missing]


def _end(found: Measured) -> list[str]:
    if any(len(line.steps) for pair in found.pairs.values() for line in (pair.a, pair.b)):
        return [] if found.ends_equal() else ["the final weights were not seen to be equal on both sides"]
    if found.results.metrics and found.results.rows:
        return []
    return [
        "no training step was recorded, and equal metrics with equal evaluation rows are not there either"
    ]
