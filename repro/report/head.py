"""The top of a report: the word, both answers, where the runs part, why, and what to do next."""

from dataclasses import dataclass

from repro.model.record import Json
from repro.model.verdict import Verdict
from repro.report import advice, values
from repro.report.words import BASIS, MEANING


@dataclass(frozen=True)
class Fact:
    """A named sentence. `code` says that it is to be typed or copied as it stands."""

    name: str
    words: str
    code: bool = False


@dataclass(frozen=True)
class Reply:
    """One of the two questions with its answer, and what the answer rests on."""

    name: str
    question: str
    word: str
    basis: str


def meaning(verdict: Verdict) -> str:
    """What the word on top means."""
    return MEANING[verdict.verdict]


def replies(verdict: Verdict) -> tuple[Reply, Reply]:
    """Both answers; they do not follow from one another."""
    return (
        Reply("numerics", "The same computation, up to rounding?", verdict.numerics, _basis(verdict)),
        Reply("outcome", "The same result in the end?", verdict.outcome, _rests_on(verdict)),
    )


def facts(verdict: Verdict) -> list[Fact]:
    """Where the runs part, the likely cause and how sure it is, and the next step."""
    found = [first(verdict)]
    if verdict.first is not None:
        found += _cause(verdict.cause)
    if verdict.repeatable is False:
        found.append(Fact("repeats", "no: on one machine, with nothing differing, two runs differ in bits"))
    step = advice.onward(verdict)
    found.append(Fact("next", step.words))
    return found + ([Fact("", step.command, code=True)] if step.command else [])


def _basis(verdict: Verdict) -> str:
    said = BASIS[verdict.basis]
    found = verdict.envelope
    if verdict.basis == "members" and found:
        ratios = [row.ratio for row in found.rows if row.judged and row.ratio is not None]
        worst = f", worst step at {values.ratio(max(ratios))}" if ratios else ""
        said = f"{found.members} {said}, factor {found.factor:g}{worst}"
    return said


def _rests_on(verdict: Verdict) -> str:
    if verdict.statistics:
        a, b = verdict.statistics[0].n
        return f"{a} and {b} runs; {values.listed([row.metric for row in verdict.statistics])}"
    declared = [row for row in verdict.metrics if row.declared]
    if declared and declared[0].margin is not None:
        row = declared[0]
        if not row.difference:
            return f"one run a side; {row.name} was not measured by both"
        return f"one run a side; {row.name} differs by {values.signed(row.difference)}, margin {row.margin:g}"
    return "one run a side, no margin declared"


def first(verdict: Verdict) -> Fact:
    """Where the runs part."""
    found = verdict.first
    if found is None:
        nothing = "nothing that both runs recorded could be compared"
        return Fact("first", "no difference" if verdict.signals else nothing)
    module = f", in {found.module}" if found.module else ""
    return Fact("first", f"{found.signal} differs at step {found.step}{module}")


def _cause(cause: Json | None) -> list[Fact]:
    if cause is None:
        return [Fact("cause", "unknown: no known cause fits what differs")]
    known = (
        ("cause", f"{sure(cause)}: {cause['why']}"),
        ("because", ", ".join(cause["because"])),
        ("but also", f"{listed} (could have done it too)" if (listed := ", ".join(cause["also"])) else ""),
        ("pin", cause["pin"]),
    )
    return [Fact(name, words) for name, words in known if words]


def sure(cause: Json) -> str:
    """How sure a cause is: proven, likely, possible, or unknown."""
    return cause.get("sure", "likely") or "unknown"
