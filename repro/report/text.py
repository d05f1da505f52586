"""A verdict as plain text, complete without colour."""

from repro.model.verdict import SIGNALS, ProtocolDifference, Signal, Verdict
from repro.report import lay, values
from repro.report.lay import Paint
from repro.report.words import MEANING, tone

_SECTION = "{}:"


def text(verdict: Verdict, *, width: int = 80, colour: bool = False) -> str:
    """The verdict for a terminal of `width` columns, ending with a newline.

    The word stands on top, then both questions, what must be equal and is not, where the runs part
    and why, results beside the margin, what else differs, and what was not controlled.
    """
    paint = Paint(colour)
    width = max(width, 40)
    rows = verdict.protocol_differences
    parts = [
        _top(verdict, paint),
        _questions(verdict, paint),
        _declared("must be equal, and differs", [r for r in rows if r.class_ == "must-equal"], width, paint),
        _where(verdict, width),
        _metrics(verdict, paint),
        _signals(verdict, paint),
        _conditions(verdict, width, paint),
        _declared("may differ, and does", [r for r in rows if r.class_ != "must-equal"], width, paint),
        _sentences("evidence", verdict.evidence, width, paint),
        _sentences("not controlled", verdict.not_controlled, width, paint),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _top(verdict: Verdict, paint: Paint) -> list[str]:
    word = paint(tone(verdict.verdict), verdict.verdict)
    return [f"{word}: {MEANING[verdict.verdict]}", f"  a  {verdict.a}", f"  b  {verdict.b}"]


def _questions(verdict: Verdict, paint: Paint) -> list[str]:
    left = f"numerics  {verdict.numerics}".ljust(34)
    left = left.replace(verdict.numerics, paint(tone(verdict.numerics), verdict.numerics))
    return [f"  {left}outcome  {paint(tone(verdict.outcome), verdict.outcome)}"]


def _where(verdict: Verdict, width: int) -> list[str]:
    first = verdict.first
    if first is None:
        said = "no difference" if verdict.signals else "nothing that both runs recorded could be compared"
        return lay.field("first", said, width)
    module = f", in {first.module}" if first.module else ""
    lines = lay.field("first", f"{first.signal} differs at step {first.step}{module}", width)
    cause = verdict.cause
    if cause is None:
        return lines + lay.field("cause", "unknown: no known cause fits what differs", width)
    lines += lay.field("cause", f"likely: {cause['why']}", width)
    lines += lay.field("because", ", ".join(cause["because"]), width)
    if cause["also"]:
        lines += lay.field("but also", f"{', '.join(cause['also'])} (the cause is not proven)", width)
    return lines + lay.field("pin", cause["pin"], width)


def _declared(title: str, rows: list[ProtocolDifference], width: int, paint: Paint) -> list[str]:
    if not rows:
        return []
    room = max((width - 44) // 2, 8)
    cells = [(_class(row), row.key, *_both(row.key, row.a, row.b, room)) for row in rows]
    return [paint("strong", _SECTION.format(title)), *lay.columns([("", "", "a", "b"), *cells])]


def _class(row: ProtocolDifference) -> str:
    return "allowed" if row.allowed else row.class_


def _both(key: str, a: object, b: object, room: int) -> tuple[str, str]:
    return lay.apart(values.shown(a, key), values.shown(b, key), room)


def _metrics(verdict: Verdict, paint: Paint) -> list[str]:
    if not verdict.metrics and not verdict.flips:
        return []
    rows = [
        (
            f"{row.name} *" if row.declared else row.name,
            values.number(row.a),
            values.number(row.b),
            values.signed(row.difference),
            "-" if row.margin is None else f"{row.margin:g}",
        )
        for row in verdict.metrics
    ]
    lines = lay.columns([("", "a", "b", "b - a", "margin"), *rows], right=(1, 2, 3, 4)) if rows else []
    return [paint("strong", _SECTION.format("results")), *lines, *_flips(verdict.flips)]


def _flips(flips: dict[str, int] | None) -> list[str]:
    if flips is None:
        return []
    counts = f"{flips['disagreements']} of {flips['examples']} examples answered differently"
    right = f"{flips['only_a_correct']} right only in a, {flips['only_b_correct']} only in b"
    return [f"  {counts}; {right}"]


def _signals(verdict: Verdict, paint: Paint) -> list[str]:
    rows = [(name, *_signal(verdict.signals.get(name))) for name in SIGNALS]
    head = ("", "values", "first step", "largest", "relative")
    return [
        paint("strong", _SECTION.format("signals, in causal order")),
        *lay.columns([head, *rows], right=(1, 2, 3, 4)),
    ]


def _signal(signal: Signal | None) -> tuple[str, str, str, str]:
    if signal is None:
        return "none", "-", "-", "-"
    step = "equal" if signal.first_step is None else str(signal.first_step)
    return str(signal.compared), step, values.size(signal.largest), values.size(signal.largest_relative)


def _conditions(verdict: Verdict, width: int, paint: Paint) -> list[str]:
    if not verdict.conditions_that_differ:
        return []
    lines = [paint("strong", _SECTION.format("conditions that differ"))]
    room = max((width - 46) // 2, 8)
    cells = [(c.risk, c.key, *_both(c.key, c.a, c.b, room)) for c in verdict.conditions_that_differ]
    head, *table = lay.columns([("risk", "", "a", "b"), *cells])
    lines.append(head)
    for condition, line in zip(verdict.conditions_that_differ, table, strict=True):
        risk = paint(tone(condition.risk), condition.risk)
        lines.append(line.replace(condition.risk, risk, 1))
        lines += [paint("faint", said) for said in lay.wrapped(condition.why, width, " " * 10, " " * 10)]
    return lines


def _sentences(title: str, sentences: list[str], width: int, paint: Paint) -> list[str]:
    if not sentences:
        return []
    return [paint("strong", _SECTION.format(title)), *lay.points(sentences, width)]
