"""Names the cause of a difference by the rules of `data/causes.toml`, and what would pin it.

A rule is named only where nothing that was measured speaks against it, and is called sure only as far as
nothing else that differs could have done the same.
"""

from collections.abc import Sequence

from repro.compare.causes import evidence, reach
from repro.compare.causes.cards import torch_changes
from repro.compare.causes.evidence import Evidence
from repro.compare.causes.rules import Rule, next_commands, rules, says
from repro.compare.side import Side
from repro.compare.signals.measured import Measured
from repro.model.record import Json
from repro.model.verdict import Condition, ProtocolDifference, Replay

SURE = ("proven", "likely", "possible")
UNKNOWN = "unknown cause"


def likely(
    found: Measured,
    gate: Sequence[ProtocolDifference],
    conditions: Sequence[Condition],
    a: Side | None = None,
    b: Side | None = None,
    *,
    replay: Replay | None = None,
    repeatable: bool | None = None,
) -> Json | None:
    """{code, why, pin, because, also, sure, next, source}; None where nothing was compared.

    `code` is `none` where nothing differs and `unknown cause` where no rule fits. `because` names what led
    to it: names that differ, then facts in words. `also` names other differences that could have done the
    same: while there are any, nothing is `proven`. `next` has commands for what to record, empty when it is
    proven. `changes` has what changed between two releases of torch, where that is part of the answer.
    """
    sides = (a, b) if a and b else None
    known = evidence.gathered(found, gate, conditions, sides, replay, repeatable)
    if not known.first:
        return _nothing(found)
    rule = next((rule for rule in rules() if _fits(rule, known)), None)
    answer = _unknown(known) if rule is None else _named(rule, known)
    if sides is not None:
        answer["changes"] = _changes(answer, *sides)
        known_as = {"a": sides[0].run.path, "b": sides[1].run.path, "step": str(known.step)}
        answer["next"] = [command.format(**known_as) for command in answer["next"]]
    return answer


def _nothing(found: Measured) -> Json | None:
    if not any(tally.compared for tally in found.tallies.values()):
        return None
    why = "nothing that was compared differs"
    return {
        "code": "none",
        "why": why,
        "pin": "",
        "because": [],
        "also": [],
        "sure": "proven",
        "next": [],
        "source": "",
    }


def _unknown(known: Evidence) -> Json:
    return {
        "code": UNKNOWN,
        "why": "no rule fits what differs" if known.names else "nothing that was recorded differs",
        "pin": "",
        "because": [],
        "also": _rivals(known, set()),
        "sure": "",
        "next": next_commands(known.first),
        "source": "",
    }


def _named(rule: Rule, known: Evidence) -> Json:
    names = _because(rule, known)
    also = _rivals(known, set(names), asked=rule.asked)
    sure = _sure(rule, known, also)
    shown = ", ".join(name.partition(".")[2] or name for name in names if reach.is_asked(name)) or ", ".join(
        names
    )
    return {
        "code": rule.code,
        "why": rule.why.format(names=shown),
        "pin": rule.pin.format(names=shown),
        "because": [*names, *says(_led(rule, known))],
        "also": also,
        "sure": sure,
        "next": [] if sure == "proven" else next_commands(known.first),
        "source": rule.source,
    }


def _fits(rule: Rule, known: Evidence) -> bool:
    return (
        (not rule.first or known.first in rule.first)
        and all(known.has(clause) for clause in rule.when)
        and (not rule.any or any(known.has(clause) for clause in rule.any))
        and not any(known.has(clause) for clause in rule.unless)
        and (
            not rule.differs
            or any(reach.can(name, known) for name in rule.matching(rule.differs, known.names))
        )
    )


def _because(rule: Rule, known: Evidence) -> list[str]:
    names = rule.matching([*rule.differs, *rule.names], known.names)
    return [name for name in names if reach.can(name, known) or reach.is_asked(name)]


def _rivals(known: Evidence, taken: set[str], *, asked: bool = False) -> list[str]:
    """Names that differ, belong to no rule that was named, and could have changed the first signal."""
    rest = [name for name in known.names if name not in taken and reach.can(name, known)]
    return [name for name in rest if not (asked and (reach.is_asked(name) or reach.follows(name, taken)))]


def _led(rule: Rule, known: Evidence) -> list[str]:
    """Facts that the rule asked for and that hold, those that prove it first."""
    clauses = [*rule.proof, *rule.when, *rule.any]
    facts = [fact for clause in clauses if known.has(clause) for fact in clause.split(" + ")]
    return list(dict.fromkeys(facts))


def _sure(rule: Rule, known: Evidence, also: list[str]) -> str:
    shown = any(known.has(clause) for clause in rule.proof)
    place = 0 if shown and not also else 1 if shown or not also else 2
    return SURE[max(place, SURE.index(rule.at_most) if rule.at_most else 0)]


def _changes(answer: Json, a: Side, b: Side) -> list[Json]:
    """Changes of torch between the two releases, where the release is part of the answer."""
    if not any(name in ("torch.version", "packages.torch") for name in [*answer["because"], *answer["also"]]):
        return []
    rows = [row for row in torch_changes(a, b) if {"values", "order"} & set(row.kind.split("+"))]
    return [{"id": row.id, "what": row.what, "pin": row.pin, "source": row.source} for row in rows]
