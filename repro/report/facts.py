"""Figures of a run that several forms of report show."""

from collections.abc import Sequence

from repro.model.number import from_text
from repro.model.record import Json
from repro.model.run import RunFolder
from repro.model.trace import Trace


def steps(traces: Sequence[Trace]) -> int:
    """Optimizer steps that were recorded, of the rank that has most."""
    return max((sum(len(segment.steps) for segment in trace.segments) for trace in traces), default=0)


def last_loss(traces: Sequence[Trace]) -> float | None:
    """Loss of the last step that has one, of the first rank."""
    recorded = traces[0].segments if traces else []
    for segment in reversed(recorded):
        losses = segment.steps.column("loss")
        known = losses.values[losses.known]
        if len(known):
            return float(known[-1])
    return None


def peak(run: RunFolder) -> Json | None:
    """Peak memory in bytes: `allocated` and `reserved` by the device's allocator, `host` resident."""
    memory = run.memory
    if memory is None:
        return None
    return {
        "allocated_bytes": memory.allocated_bytes,
        "reserved_bytes": memory.reserved_bytes,
        "host_bytes": memory.host_bytes,
        "step": memory.step,
    }


def duration(run: RunFolder) -> float | None:
    """Seconds from start to end, or None when one of them was not recorded."""
    attempt = run.attempt
    if not attempt.started or not attempt.ended:
        return None
    return from_text(attempt.ended) - from_text(attempt.started)
