"""What the runs ended with: metrics, several runs a side, flips, memory and time."""

from collections.abc import Sequence
from typing import Any

from repro.model.curves import Curves, Usage
from repro.model.verdict import MetricRow, Statistic, Verdict
from repro.report import values
from repro.report.section import Row, Section, columns


def metrics(verdict: Verdict) -> Section:
    """Final metrics of the two runs; a declared one beside its margin."""
    return Section(
        "results",
        "results",
        columns("metric", "a:number", "b:number", "b - a:number", "margin:number"),
        [_metric(row) for row in verdict.metrics],
    )


def statistics(verdict: Verdict) -> Section:
    """Declared metrics over several runs a side: what was found, and what would settle the rest."""
    titles = columns(
        "outcome:word",
        "metric:key",
        "runs:number",
        "a:number",
        "b:number",
        "b - a:number",
        "90 %:number",
        "margin:number",
    )
    rows = [_statistic(row) for row in verdict.statistics]
    said = [sentence for row in verdict.statistics for sentence in _tests(row)]
    return Section("statistics", "over several runs", titles, rows, said)


def flips(verdict: Verdict) -> Section:
    """Examples that were answered differently, beside what noise members and seeds differ in."""
    title = "examples answered differently"
    found = verdict.flips
    if not found:
        return Section("flips", title)
    examples = found.get("examples", 0)
    rows = [("a and b", *_counts(found.get("disagreements", 0), examples))]
    rows += [
        (name, *_span(verdict.noise.get(key), examples))
        for key, name in (("members", "noise members"), ("seeds", "other seeds"))
        if verdict.noise.get(key)
    ]
    titles = columns("between", "examples:number", "rate:number")
    return Section("flips", title, titles, rows, _graded(found))


def usage(curves: Curves | None) -> Section:
    """Memory and time of both sides; what neither recorded is left out."""
    title = "memory and time"
    if curves is None:
        return Section("usage", title)
    a, b = curves.usage
    told = [(name, how(a), how(b)) for name, how in _USED]
    rows = [row for row in told if row[1:] != ("-", "-")]
    return Section("usage", title, columns("", "a:number", "b:number"), rows)


def _time(used: Usage) -> str:
    return "-" if used.seconds is None else values.seconds(used.seconds)


_USED = (
    ("steps", lambda used: "-" if used.steps is None else str(used.steps)),
    ("time", _time),
    ("a step, median", lambda used: values.short_time(used.step_seconds)),
    ("the recorder's own share", lambda used: values.share(used.share)),
    ("peak memory, host", lambda used: values.bytes_(used.host_bytes)),
    ("peak memory, allocated on the device", lambda used: values.bytes_(used.allocated_bytes)),
    ("peak memory, reserved on the device", lambda used: values.bytes_(used.reserved_bytes)),
)


def _metric(row: MetricRow) -> Row:
    return (
        f"{row.name} (declared)" if row.declared else row.name,
        values.number(row.a),
        values.number(row.b),
        values.signed(row.difference),
        "-" if row.margin is None else f"{row.margin:g}",
    )


def _statistic(row: Statistic) -> Row:
    return (
        row.outcome,
        row.metric,
        f"{row.n[0]}, {row.n[1]}",
        _mean(row.mean[0], row.deviation[0]),
        _mean(row.mean[1], row.deviation[1]),
        f"{row.difference:+.3g}",
        _interval(row.low, row.high),
        "-" if row.margin is None else f"{row.margin:g}",
    )


def _mean(mean: float, deviation: float | None) -> str:
    return f"{mean:.6g}" if deviation is None else f"{mean:.6g} ± {deviation:.2g}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:+.2g} to {high:+.2g}"


def _tests(row: Statistic) -> list[str]:
    """Sentences about one metric, in the order in which a reader asks."""
    known: Sequence[tuple[Any, str]] = (
        (row.paired, f"paired by seed, correlation {values.size(row.correlation)}"),
        (row.p_difference is not None, f"difference: {values.chance(row.p_difference)}, Holm-corrected"),
        (
            row.p_equivalence is not None,
            f"equivalence at the margin (TOST): {values.chance(row.p_equivalence)}",
        ),
        (row.predicted, f"the runs of a predict {_predicted(row)} for b (95 %)"),
        (row.floor is not None, f"the finite evaluation set alone gives a deviation of {_size(row.floor)}"),
        (row.needed, f"{row.needed} runs a side would settle it, four times in five"),
    )
    parts = [words for holds, words in known if holds]
    return [f"{row.metric}: {'; '.join(parts)}"] if parts else []


def _predicted(row: Statistic) -> str:
    return f"{row.predicted[0]:.6g} to {row.predicted[1]:.6g}" if row.predicted else ""


def _size(value: float | None) -> str:
    return values.size(value)


def _graded(found: dict[str, int]) -> list[str]:
    """Which side was right, where that is known; how many flips were close, where the scores are."""
    if "only_a_correct" in found:
        return [f"{found['only_a_correct']} right only in a, {found['only_b_correct']} only in b"]
    if "close" in found:
        return [f"{found['close']} of them close: on both sides below a tenth of the usual margin"]
    return []


def _counts(count: int, examples: int) -> tuple[str, str]:
    return f"{count} of {examples}", values.share(count / examples) if examples else "-"


def _span(bounds: Any, examples: int) -> tuple[str, str]:
    low, high = bounds
    rates = f"{values.share(low / examples)} to {values.share(high / examples)}" if examples else "-"
    return f"{low} to {high}", rates
