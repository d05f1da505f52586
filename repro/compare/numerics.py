"""First question: did both runs do the same computation? Today `identical`, or not tested."""

from repro.compare.measured import Measured
from repro.compare.side import Side


def numerics(a: Side, b: Side, found: Measured) -> tuple[str, list[str]]:
    """`identical` or `untested`, and the sentences that say why.

    Identical needs both runs whole and of one length, every value that both recorded equal in
    every bit, and the final weights fingerprinted and equal; a run without recorded steps needs
    equal metrics and equal evaluation rows. Everything else is untested, since no noise envelope
    has been measured that could tell rounding from more.
    """
    hindrances = [*_unfinished(a, b), *_different(found), *_unequal_form(found), *_end(found)]
    if not hindrances:
        return "identical", [_what_is_equal(found)]
    said = [f"not called identical: {'; '.join(hindrances)}"]
    if found.differs:
        said.append(
            "whether the difference is rounding or more was not tested: no noise envelope was measured"
        )
    return "untested", said


def _unfinished(a: Side, b: Side) -> list[str]:
    sides = {"a": a, "b": b}
    said = [
        f"{name} did not finish ({_state(side)})" for name, side in sides.items() if not side.run.complete
    ]
    torn = [name for name, side in sides.items() if any(trace.torn for trace in side.traces)]
    return said + [f"the last line of a trace of {name} was cut" for name in torn]


def _state(side: Side) -> str:
    attempt = side.run.attempt
    last = max(
        (step.step for trace in side.traces for s in trace.segments for step in s.steps[-1:]), default=0
    )
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
    if any(pair.a.steps or pair.b.steps for pair in found.pairs.values()):
        return [] if found.ends_equal() else ["the final weights were not seen to be equal on both sides"]
    if found.results.metrics and found.results.rows:
        return []
    return [
        "no training step was recorded, and equal metrics with equal evaluation rows are not there either"
    ]


def _what_is_equal(found: Measured) -> str:
    parts = [f"{signal.compared} of {name}" for name, signal in found.signals.items()]
    steps = found.steps()
    over = f"over {steps} steps, final weights included" if steps else "(no training step was recorded)"
    return f"equal in every bit {over}; values compared: {', '.join(parts)}"
