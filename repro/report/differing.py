"""What differs between two runs: conditions, protocol, and the signals in causal order."""

from repro.model.verdict import SIGNALS, Condition, ProtocolDifference, Signal, Verdict
from repro.report import lay, values
from repro.report.section import Row, Section, columns

EQUAL, ABSENT = "equal", "not recorded"
_CLASSES = ("must-equal", "factor", "recorded")
_LONGEST = 240


def conditions(verdict: Verdict) -> Section:
    """Conditions that differ, with what such a difference can do."""
    rows = [(c.risk, c.key, *_both(c), c.why) for c in verdict.conditions_that_differ]
    return Section(
        "conditions",
        "conditions that differ",
        columns("risk:word", "condition:key", "a:value", "b:value", "why:why"),
        rows,
    )


def protocol(verdict: Verdict) -> Section:
    """Declared things that differ: refused ones first, then allowed ones, the factor, what is recorded."""
    ordered = sorted(verdict.protocol_differences, key=lambda row: (_CLASSES.index(row.class_), row.allowed))
    return Section(
        "protocol",
        "protocol differences",
        columns("class:word", "what:key", "a:value", "b:value"),
        [(_class(row), row.key, *_both(row)) for row in ordered],
        _confounded(verdict.protocol_differences),
    )


def signals(verdict: Verdict) -> Section:
    """Every signal in causal order; one that was not recorded says so."""
    return Section(
        "signals",
        "signals, in causal order",
        columns("signal", "first step:number", "values:number", "largest:number", "relative:number"),
        [(name, *_signal(verdict.signals.get(name))) for name in SIGNALS],
    )


def _signal(signal: Signal | None) -> Row:
    if signal is None:
        return ABSENT, "-", "-", "-"
    step = EQUAL if signal.first_step is None else str(signal.first_step)
    return step, str(signal.compared), values.size(signal.largest), values.size(signal.largest_relative)


def _class(row: ProtocolDifference) -> str:
    return "allowed" if row.allowed else row.class_


def _both(row: ProtocolDifference | Condition) -> tuple[str, str]:
    """Both values; of long ones, such as how torch was built, the part around the first difference."""
    return lay.apart(values.shown(row.a, row.key), values.shown(row.b, row.key), _LONGEST)


def _confounded(rows: list[ProtocolDifference]) -> list[str]:
    """A factor under study means little while something else that matters differs too."""
    factors = [row.key for row in rows if row.class_ == "factor"]
    others = [row.key for row in rows if row.class_ == "must-equal"]
    if not factors or not others:
        return []
    both = f"the factor ({values.listed(factors)}) and {values.listed(others)}"
    return [f"confounded: {both} differ together, so what follows cannot be put down to one of them"]
