"""Verdicts and runs as documents for scripts: the keys of architecture A6b, which never change."""

from collections.abc import Sequence
from typing import Any

import msgspec

from repro.model.record import Json, Record
from repro.model.run import Gate, RunFolder
from repro.model.trace import Trace
from repro.model.verdict import (
    Condition,
    MetricRow,
    ModuleRow,
    ProtocolDifference,
    Replay,
    Signal,
    Verdict,
)
from repro.report import values
from repro.report.facts import peak, steps


def document(verdict: Verdict) -> Json:
    """The answer of `repro compare --json`."""
    first = verdict.first
    return {
        "command": "compare",
        "schema": verdict.schema,
        "a": verdict.a,
        "b": verdict.b,
        "verdict": verdict.verdict,
        "numerics": verdict.numerics,
        "outcome": verdict.outcome,
        "first": None
        if first is None
        else {"signal": first.signal, "step": first.step, "module": first.module},
        "signals": {name: _signal(signal) for name, signal in verdict.signals.items()},
        "protocol_differences": [_difference(row) for row in verdict.protocol_differences],
        "conditions_that_differ": [_condition(row) for row in verdict.conditions_that_differ],
        "metrics": [_metric(row) for row in verdict.metrics],
        "flips": verdict.flips,
        "cause": verdict.cause,
        "evidence": list(verdict.evidence),
        "not_controlled": list(verdict.not_controlled),
        "basis": verdict.basis,
        "repeatable": verdict.repeatable,
        "envelope": _record(verdict.envelope),
        "replay": _replay(verdict.replay),
        "statistics": [_record(row) for row in verdict.statistics],
        "noise": verdict.noise,
    }


def _record(record: Record | None) -> Any:
    """A record under its own names; a number that JSON lacks becomes null."""
    return None if record is None else msgspec.to_builtins(record)


def _replay(replay: Replay | None) -> Json | None:
    if replay is None:
        return None
    rows = [_module(row) for row in replay.rows]
    origin = None if replay.origin is None else _module(replay.origin)
    return {"steps": list(replay.steps), "origin": origin, "rows": rows, "notes": list(replay.notes)}


def _module(row: ModuleRow) -> Json:
    named: Json = _record(row)
    return {("class" if key == "class_" else key): value for key, value in named.items()}


def run_document(run: RunFolder, traces: Sequence[Trace] = ()) -> Json:
    """The answer of `repro show RUN --json`; the keys of `repro run --json` and more."""
    attempt = run.attempt
    return {
        "command": "show",
        "schema": 1,
        "run": {"id": attempt.run_id, "path": run.path, "label": attempt.label, "engine": attempt.engine},
        "attempt": attempt.attempt,
        "complete": run.complete,
        "status": attempt.status,
        "reason": attempt.reason,
        "exit_code": attempt.exit_code,
        "steps": steps(traces),
        "metrics": {name: values.plain(text) for name, text in _metrics(run).items()},
        "peak": peak(run),
        "recorder": run.attempt.recorder,
        "plan": run.attempt.plan,
        "gates": [_gate(gate) for gate in run.gates],
        "conditions": run.conditions,
    }


def _gate(gate: Gate) -> Json:
    """A gate; one that looked at the card says what it found, in the keys of `repro check --json`."""
    told = {"name": gate.name, "status": gate.status, "reason": gate.reason}
    if not gate.findings:
        return told
    return {
        **told,
        "allowed": gate.allowed,
        "findings": [msgspec.to_builtins(found) for found in gate.findings],
    }


def _signal(signal: Signal) -> Json:
    return {
        "compared": signal.compared,
        "first_step": signal.first_step,
        "largest": signal.largest,
        "largest_relative": signal.largest_relative,
    }


def _difference(row: ProtocolDifference) -> Json:
    return {"key": row.key, "a": row.a, "b": row.b, "class": row.class_, "allowed": row.allowed}


def _condition(row: Condition) -> Json:
    return {"key": row.key, "a": row.a, "b": row.b, "risk": row.risk, "why": row.why}


def _metric(row: MetricRow) -> dict[str, Any]:
    """Numbers for reading, and `exact` with the texts that hold every bit."""
    return {
        "name": row.name,
        "a": values.plain(row.a),
        "b": values.plain(row.b),
        "difference": values.plain(row.difference),
        "margin": row.margin,
        "declared": row.declared,
        "exact": {"a": row.a or None, "b": row.b or None, "difference": row.difference or None},
    }


def _metrics(run: RunFolder) -> dict[str, str]:
    return run.metrics.values if run.metrics else {}
