"""Builds sides in memory: records as the readers give them, small enough to see through."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from repro.compare import Side
from repro.model.run import Attempt, Metrics, RunFolder
from repro.model.trace import Segment, StateSnapshot, Step, Trace

MakeSide = Callable[..., Side]
CONDITIONS = {"torch.version": "2.13.0", "cpu.capability": "AVX2", "hash_seed": "0"}


def shot(step: int, value: int, **fields: Any) -> StateSnapshot:
    known = {"weights": [f"{value:016x}"], "norm2": (4.0).hex(), "sketch": [(1.0 + value).hex(), (0.0).hex()]}
    return StateSnapshot(step=step, **{**known, **fields})


def segment(steps: int = 4, *, first: int = 0, salt: int = 0, **fields: Any) -> Segment:
    """Steps 1..n whose state after step i is `first + i`; a salt makes all of them other states."""
    away = 1000 * salt
    start = {"format": 1, "params": [{"name": "w", "shape": [2], "dtype": "float32"}], "buffers": []}
    found = {
        "start": start,
        "steps": [
            Step(
                step=n,
                loss=(1 / (first + n + away)).hex(),
                nb=1,
                gn=(2.0 / (first + n + away)).hex(),
                lr=[(0.1).hex()] if n == 1 else None,
                idx=f"{first + n:016x}",
                batch=f"{first + n + 99:016x}",
                rng={"torch": f"{first + n:016x}", "python": "00"},
            )
            for n in range(1, steps + 1)
        ],
        "snapshots": [shot(n, first + n + away) for n in range(steps + 1)],
        "end": {"steps": steps, "status": "ok"},
    }
    return Segment(**{**found, **fields})


def trace(*segments: Segment, rank: int = 0, torn: bool = False) -> Trace:
    return Trace(rank=rank, segments=list(segments) or [segment()], torn=torn)


@pytest.fixture
def make_side() -> MakeSide:
    """`make_side(traces=..., complete=True, metrics={"acc": 0.5}, attempt={...}, **fields of RunFolder)`."""

    def make(
        traces: Sequence[Trace] | None = None,
        *,
        complete: bool = True,
        metrics: dict[str, float] | None = None,
        attempt: dict[str, Any] | None = None,
        name: str = "r",
        **fields: Any,
    ) -> Side:
        state = {"schema": 1, "attempt": 1, "status": "ok" if complete else "running", "run_id": name}
        run = RunFolder(
            path=f"/runs/{name}",
            folder=f"/runs/{name}/attempt-1",
            complete=complete,
            attempt=Attempt(**{**state, **(attempt or {})}),
            metrics=Metrics(schema=1, values={k: float(v).hex() for k, v in metrics.items()})
            if metrics
            else None,
            **{"conditions": CONDITIONS, **fields},
        )
        return Side(run, [trace()] if traces is None else traces)

    return make


class Build:
    """The builders by name, so that test files need no import from here."""

    shot = staticmethod(shot)
    segment = staticmethod(segment)
    trace = staticmethod(trace)
    step = staticmethod(lambda n, **fields: Step(step=n, **fields))
    metrics = staticmethod(lambda values: Metrics(schema=1, values=values))


@pytest.fixture
def build() -> type[Build]:
    return Build
