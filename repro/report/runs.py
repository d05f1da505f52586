"""A run as plain text, for `repro show RUN`."""

from collections.abc import Sequence
from pathlib import Path

from repro import redact
from repro.model.run import RunFolder
from repro.model.trace import Trace
from repro.report import lay, values
from repro.report.facts import duration, last_loss, steps
from repro.report.lay import Paint
from repro.report.recording import recording
from repro.report.words import tone

# What is worth a line on a screen; all the rest stands in conditions.json.
_SHOWN = (
    ("torch", ("torch.version", "torch.cuda", "torch.cudnn")),
    ("python", ("python.version", "platform.machine", "platform.libc")),
    ("device", ("device.type", "device.name", "device.capability", "device.driver")),
    ("cpu", ("cpu.model", "cpu.capability")),
    ("threads", ("threads.intra", "threads.inter")),
    ("ranks", ("world_size",)),
)


def run_text(run: RunFolder, traces: Sequence[Trace] = (), *, width: int = 80, colour: bool = False) -> str:
    """The run for a terminal of `width` columns: how it ended, what it measured, where things lie."""
    paint = Paint(colour)
    parts = [
        _top(run, width, paint),
        _figures(run, traces, width),
        _metrics(run, paint),
        _gates(run, width, paint),
        _conditions(run, width, paint),
        _places(run, paint),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _top(run: RunFolder, width: int, paint: Paint) -> list[str]:
    attempt = run.attempt
    name = attempt.run_id or Path(run.path).name
    label = f" ({attempt.label})" if attempt.label else ""
    state = attempt.status if run.complete or attempt.status != "ok" else "ended, but no result was committed"
    lines = [f"{paint(tone(attempt.status if run.complete else ''), state)}: run {name}{label}"]
    if not run.complete and attempt.status == "running":
        lines += lay.field("", "no end was recorded: it still runs, or it was killed", width)
    lines += lay.field("reason", attempt.reason, width) if attempt.reason else []
    lines += lay.field("command", redact.text(" ".join(attempt.command or attempt.argv)), width)
    return lines


def _figures(run: RunFolder, traces: Sequence[Trace], width: int) -> list[str]:
    lines = lay.field("steps", _steps(traces), width)
    spent = duration(run)
    lines += lay.field("time", values.seconds(spent), width) if spent is not None else []
    lines += lay.field("peak", _peak(run), width)
    for name, words in recording(run, traces):
        lines += lay.field(name, words, width)
    if run.attempt.exit_code is not None:
        lines += lay.field("exit", str(run.attempt.exit_code), width)
    return lines


def _steps(traces: Sequence[Trace]) -> str:
    if not traces:
        return "none recorded"
    loss = last_loss(traces)
    said = str(steps(traces)) + (f", last loss {loss:.6g}" if loss is not None else "")
    ranks = f", {len(traces)} processes" if len(traces) > 1 else ""
    torn = ", the trace's last line was cut" if any(trace.torn for trace in traces) else ""
    return f"{said}{ranks}{torn}"


def _peak(run: RunFolder) -> str:
    memory = run.memory
    if memory is None:
        return "not recorded"
    figures = (
        ("allocated", memory.allocated_bytes),
        ("reserved", memory.reserved_bytes),
        ("host resident", memory.host_bytes),
    )
    known = [f"{name} {values.bytes_(count)}" for name, count in figures if count is not None]
    at = f" (step {memory.step})" if memory.step is not None else ""
    return (", ".join(known) or "not recorded") + at + (f"; {memory.note}" if memory.note else "")


def _metrics(run: RunFolder, paint: Paint) -> list[str]:
    if run.metrics is None or not run.metrics.values:
        return []
    rows = [(name, values.number(text)) for name, text in sorted(run.metrics.values.items())]
    source = f" (from {run.metrics.source})" if run.metrics.source else ""
    return [paint("strong", f"metrics{source}:"), *lay.columns(rows, right=(1,))]


def _gates(run: RunFolder, width: int, paint: Paint) -> list[str]:
    if not run.gates:
        return []
    room = max(len(gate.name) for gate in run.gates)
    lines = [paint("strong", "gates:")]
    for gate in run.gates:
        first = f"  {gate.status.ljust(8)}{gate.name.ljust(room)}  "
        said = lay.wrapped(gate.reason or "", width, first, " " * len(first))
        lines += [said[0].replace(gate.status, paint(tone(gate.status), gate.status), 1), *said[1:]]
        told = gate.evidence if gate.findings else []
        lines += [
            line for text in told for line in lay.wrapped(text, width, " " * len(first), " " * len(first))
        ]
    return lines


def _conditions(run: RunFolder, width: int, paint: Paint) -> list[str]:
    known = run.conditions
    if not known:
        return [paint("strong", "conditions:"), "  not recorded"]
    lines = [paint("strong", "conditions:")]
    for title, names in _SHOWN:
        parts = [
            f"{name.rpartition('.')[2]} {values.shown(known[name])}" for name in names if known.get(name)
        ]
        lines += lay.field(title, ", ".join(parts), width) if parts else []
    variables = [f"{k.removeprefix('env.')}={v}" for k, v in sorted(known.items()) if k.startswith("env.")]
    lines += lay.field("set", redact.text(" ".join(variables)), width) if variables else []
    return lines


def _places(run: RunFolder, paint: Paint) -> list[str]:
    folder = Path(run.folder)
    names = [name for name in ("out", "log.txt", "conditions.json", "eval.jsonl") if (folder / name).exists()]
    return [paint("strong", "files:"), f"  {folder}", *(f"    {name}" for name in names)]
