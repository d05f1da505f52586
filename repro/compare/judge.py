"""Joins gate, measurement and the two questions into one verdict."""

from collections.abc import Collection, Sequence

import msgspec

from repro.compare.causes import likely as cause
from repro.compare.causes.rules import moves_last_bits
from repro.compare.gate import conditions, policy, protocol
from repro.compare.results.outcome import outcome
from repro.compare.rounding import repeat
from repro.compare.rounding.numerics import Numerics, numerics
from repro.compare.side import Side, names
from repro.compare.signals import flips
from repro.compare.signals.measured import Measured, notes, take
from repro.compare.words import strongest
from repro.model.record import Json
from repro.model.verdict import Condition, First, ProtocolDifference, Verdict

_PLACE = ("device.", "cpu.", "torch.", "platform.", "threads.", "packages.", "python.")
_TARGETS = "targets are recorded by their loss only: outputs are equal and the loss is not, so targets differ"
_COMPUTED = ("forward", "loss", "gradient", "update", "weights")


def judge(
    a: Side,
    b: Side,
    *,
    allow: Collection[str] = (),
    members: Sequence[Side] = (),
    dense: tuple[Side, Side] | None = None,
) -> Verdict:
    """The verdict for a reference `a` and a candidate `b`.

    Everything is compared as far as the records go, whatever the word on top: an `incomparable`
    verdict still says where the runs part. `allow` holds protocol keys, or leading parts of dotted
    keys, that may differ; the verdict says so.

    Args:
        a: the reference.
        b: the candidate.
        allow: protocol keys that may differ.
        members: noise members of `a`: its repeats, and runs of it whose weights were moved by rounding.
        dense: runs of single steps of both sides, module by module, each from one stored state.
    """
    name_a, name_b = names(a, b)
    gate = protocol.differences(a, b, allow)
    found = take(a, b)
    first = numerics(a, b, found, members=members, dense_steps=dense)
    differing = conditions.differing(a, b)
    repeats = repeat.repeatable(a, b, found, gate, differing, first.answer.word)
    why = cause.likely(found, gate, differing, a, b, replay=first.replay, repeatable=repeats)
    answer = first.answer
    if why is not None:
        answer = answer.by_cause(why["code"], moves_last_bits=moves_last_bits(why))
    end, why_outcome = outcome(a, b, answer.word, found)
    return Verdict(
        verdict=_word(a, b, gate, answer.word, end, found),
        numerics=answer.word,
        outcome=end,
        a=name_a,
        b=name_b,
        first=_first(found, first, why),
        signals=found.signals,
        protocol_differences=gate,
        conditions_that_differ=differing,
        metrics=found.results.table,
        flips=found.results.flips,
        cause=why,
        evidence=[
            *_gate_said(gate, allow),
            *_confounded(gate, differing),
            *_seen(found, repeats, why),
            *answer.said,
            *why_outcome,
            *notes(found),
        ],
        not_controlled=_not_controlled(a, b, found),
        basis=answer.basis,
        repeatable=repeats,
        envelope=first.envelope,
        replay=first.replay,
        noise=flips.noise("members", [a, *members]),
    )


def compare_many(reference: Side, others: Sequence[Side], *, allow: Collection[str] = ()) -> list[Verdict]:
    """One verdict for each of `others` against the reference, in their order."""
    return [judge(reference, other, allow=allow) for other in others]


def _seen(found: Measured, repeats: bool | None, why: Json | None) -> list[str]:
    """What was seen of the runs that no answer of its own says."""
    said = [repeat.SAID] if repeats is False else []
    return said + ([_TARGETS] if _by_targets(found, why) else [])


def _word(a: Side, b: Side, gate: list[ProtocolDifference], answer: str, end: str, found: Measured) -> str:
    holds = {answer, end}
    if protocol.forbids(gate):
        holds.add("incomparable")
    if a.unfinished or b.unfinished:
        holds.add("incomplete")
    if found.differs and answer == "untested":
        holds.add("inconclusive")  # a difference was seen, and what it means is open
    return strongest(holds)


def _first(found: Measured, numerics: Numerics, why: Json | None) -> First | None:
    """Where the runs part, with the module in which the difference arises where a replay names it."""
    origin = numerics.replay.origin if numerics.replay else None
    if found.first is not None and _by_targets(found, why):
        return First(signal="samples", step=found.first.step)
    if found.first is None or origin is None or found.first.signal not in _COMPUTED:
        return found.first
    return msgspec.structs.replace(found.first, module=origin.module)


def _by_targets(found: Measured, why: Json | None) -> bool:
    """Whether the cause says that targets differ, which a recorder sees by the loss alone."""
    at_loss = found.first is not None and found.first.signal == "loss"
    return at_loss and why is not None and why["code"] == "hash_seed_set_order"


def _confounded(gate: list[ProtocolDifference], differing: list[Condition]) -> list[str]:
    """Said where what must be equal differs together with what may: one effect hides the other."""
    must = [row.key for row in gate if row.class_ == protocol.MUST]
    factors = [row.key for row in gate if row.class_ == protocol.FACTOR and not policy.follows(row)]
    factors += [row.key for row in differing if row.risk in ("high", "medium") and row.key.startswith(_PLACE)]
    if not must or not factors:
        return []
    return [
        f"confounded: {', '.join(must)} and, as a factor under study, {', '.join(factors)} differ at once"
    ]


def _gate_said(gate: list[ProtocolDifference], allow: Collection[str]) -> list[str]:
    refused = [row.key for row in gate if row.class_ == protocol.MUST and not row.allowed]
    allowed = [row.key for row in gate if row.allowed]
    used = {key for key in allow if any(protocol.covers(key, row.key) for row in gate)}
    said = [f"must be equal and differs: {', '.join(refused)}"] if refused else []
    said += [f"allowed to differ by request: {', '.join(allowed)}"] if allowed else []
    said += [f"`--allow {key}` had no effect: no such thing differs" for key in sorted(set(allow) - used)]
    return said


def _not_controlled(a: Side, b: Side, found: Measured) -> list[str]:
    said = protocol.unknown_parts(a, b)
    for name, tally in found.tallies.items():
        if not tally.compared and not tally.differs:
            said.append(f"{name}: {_why_not(name, found)}")
        elif tally.missing:
            said.append(f"{name}: {_gaps(tally.missing)}")
    said += [f"eval: {sentence}" for sentence in found.results.alone]
    if found.results.unjudged:
        said.append(f"metrics that measure time were not compared: {', '.join(found.results.unjudged)}")
    if _printed_otherwise(a, b) and not (found.results.metrics or found.results.rows):
        said.append("output: what the programs printed differs, and was not compared")
    said += [
        f"conditions: not recorded in {n}" for n, side in (("a", a), ("b", b)) if not side.run.conditions
    ]
    if _random_hashes(a) and _random_hashes(b):
        said.append("hash seed: random in both runs, so sets of strings may be walked in another order")
    return said


def _why_not(name: str, found: Measured) -> str:
    if missing := found.tallies[name].missing:
        return f"not compared, {_gaps(missing)}"
    if name == "init" and any(pair.a.begins != pair.b.begins for pair in found.pairs.values()):
        return "not compared, one run goes on from a later state of the other"
    if name == "rng" and found.steps():
        return "not compared, no recorded step drew from a generator that both sides recorded"
    return "not compared, recorded by neither run"


def _gaps(missing: dict[str, int]) -> str:
    return " and ".join(
        f"{count} values are not recorded in {side}" for side, count in sorted(missing.items())
    )


def _random_hashes(side: Side) -> bool:
    return side.run.conditions.get("hash_seed") in ("random", "", None) and bool(side.run.conditions)


def _printed_otherwise(a: Side, b: Side) -> bool:
    x, y = a.run.files.get("log.txt"), b.run.files.get("log.txt")
    return x is not None and y is not None and x != y
