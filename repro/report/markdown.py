"""A verdict as Markdown, for an issue, a pull request or a lab book."""

from collections.abc import Sequence

from repro.model.verdict import SIGNALS, Condition, ProtocolDifference, Verdict
from repro.report import values
from repro.report.words import MEANING


def markdown(verdict: Verdict) -> str:
    """The verdict as GitHub-flavoured Markdown, ending with a newline."""
    parts = [
        f"## {verdict.verdict}: {MEANING[verdict.verdict]}",
        _table(("", "run"), [("a", verdict.a), ("b", verdict.b)]),
        f"**Numerics:** {verdict.numerics}. **Outcome:** {verdict.outcome}.",
        _where(verdict),
        _section("Declared things that differ", _declared(verdict)),
        _section("Results", _results(verdict)),
        _section("Signals, in causal order", _signals(verdict)),
        _section("Conditions that differ", _conditions(verdict)),
        _section("Evidence", _points(verdict.evidence)),
        _section("Not controlled", _points(verdict.not_controlled)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _where(verdict: Verdict) -> str:
    first = verdict.first
    if first is None:
        return "No difference was found." if verdict.signals else "Nothing could be compared."
    said = f"**First difference:** {first.signal}, at step {first.step}."
    cause = verdict.cause
    if cause is None:
        return f"{said} No known cause fits what differs."
    also = f" Not proven, these differ as well: {_codes(cause['also'])}." if cause["also"] else ""
    because = _codes(cause["because"])
    return f"{said}\n**Likely cause** ({because}): {cause['why']}.{also}\n**Pin:** {cause['pin']}."


def _declared(verdict: Verdict) -> str:
    rows = [
        ("allowed" if row.allowed else row.class_, f"`{row.key}`", *_both(row))
        for row in verdict.protocol_differences
    ]
    return _table(("class", "what", "a", "b"), rows)


def _both(row: ProtocolDifference | Condition) -> tuple[str, str]:
    return values.shown(row.a, row.key), values.shown(row.b, row.key)


def _results(verdict: Verdict) -> str:
    rows = [
        (
            f"**{row.name}** (declared)" if row.declared else row.name,
            values.number(row.a),
            values.number(row.b),
            values.signed(row.difference),
            "-" if row.margin is None else f"{row.margin:g}",
        )
        for row in verdict.metrics
    ]
    parts = [_table(("metric", "a", "b", "b - a", "margin"), rows)]
    if flips := verdict.flips:
        parts.append(
            f"{flips['disagreements']} of {flips['examples']} examples were answered differently; "
            f"{flips['only_a_correct']} right only in a, {flips['only_b_correct']} only in b."
        )
    return "\n\n".join(part for part in parts if part)


def _signals(verdict: Verdict) -> str:
    rows = []
    for name in SIGNALS:
        if signal := verdict.signals.get(name):
            step = "equal" if signal.first_step is None else str(signal.first_step)
            sizes = values.size(signal.largest), values.size(signal.largest_relative)
            rows.append((name, str(signal.compared), step, *sizes))
        else:
            rows.append((name, "none", "-", "-", "-"))
    return _table(("signal", "values", "first step", "largest", "relative"), rows)


def _conditions(verdict: Verdict) -> str:
    rows = [(c.risk, f"`{c.key}`", *_both(c), c.why) for c in verdict.conditions_that_differ]
    return _table(("risk", "condition", "a", "b", "why"), rows)


def _section(title: str, body: str) -> str:
    return f"### {title}\n\n{body}" if body else ""


def _points(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {_safe(sentence)}" for sentence in sentences)


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(words: str) -> str:
    return _safe(words).replace("|", "\\|")


def _safe(words: str) -> str:
    """Text that cannot open a tag or a new line."""
    return words.replace("\n", " ").replace("<", "&lt;")
