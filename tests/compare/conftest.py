"""Builds sides in memory: records as the readers give them, small enough to see through."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from repro.compare import Side
from repro.model.run import Attempt, Metrics, RunFolder
from repro.model.trace import (
    Evaluation,
    Gradients,
    ModuleCall,
    Segment,
    StateSnapshot,
    Step,
    Steps,
    Trace,
)

MakeSide = Callable[..., Side]
SEEDED = {
    "protocol": {"metric": "acc", "margin": 0.05, "seed": 1, "parameters": {"seed": "seed"}},
}
CONDITIONS = {"torch.version": "2.13.0", "cpu.capability": "AVX2", "hash_seed": "0"}


def shot(step: int, value: int, **fields: Any) -> StateSnapshot:
    known = {"weights": [f"{value:016x}"], "norm2": (4.0).hex(), "sketch": [(1.0 + value).hex(), (0.0).hex()]}
    return StateSnapshot(step=step, **{**known, **fields})


def segment(steps: int = 4, *, first: int = 0, salt: int = 0, **fields: Any) -> Segment:
    """Steps 1..n whose state after step i is `first + i`; a salt makes all of them other states."""
    away = 1000 * salt
    start = {"format": 2, "params": [{"name": "w", "shape": [2], "dtype": "float32"}], "buffers": []}
    found = {
        "start": start,
        "steps": Steps.of(
            [
                Step(
                    step=n,
                    loss=(1 / (first + n + away)).hex(),
                    nb=1,
                    gn=(2.0 / (first + n + away)).hex(),
                    lr=[(0.1).hex()] if n == 1 else None,
                    idx=f"{first + n:016x}",
                    batch=f"{first + n + 99:016x}",
                    fwd=f"{first + n + 55:016x}",
                    rng={"torch": f"{first + n:016x}", "python": "00"},
                )
                for n in range(1, steps + 1)
            ]
        ),
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


@pytest.fixture
def make_group(make_side, build):
    """`make_group(values, salt=1, seeds=None, **fields)`: runs whose traces differ by `salt` and seed."""

    def make(values, *, salt=1, seeds=None, spec=SEEDED, name="r", **fields):
        return [
            make_side(
                [build.trace(build.segment(salt=100 * salt + seed))],
                metrics=value if isinstance(value, dict) else {"acc": value},
                params={"seed": seed, "lr": 0.1},
                protocol=spec,
                name=f"{name}{salt}-{seed}",
                **fields,
            )
            for seed, value in zip(seeds or range(1, len(values) + 1), values, strict=True)
        ]

    return make


class Build:
    """The builders by name, so that test files need no import from here."""

    shot = staticmethod(shot)
    segment = staticmethod(segment)
    trace = staticmethod(trace)
    step = staticmethod(lambda n, **fields: Step(step=n, **fields))
    steps = staticmethod(Steps.of)
    call = staticmethod(lambda step, n=0, **fields: ModuleCall(step=step, n=n, **{"module": "fc", **fields}))
    gradients = staticmethod(lambda step, grads=(): Gradients(step=step, grads=list(grads)))
    evaluation = staticmethod(lambda step, **fields: Evaluation(step=step, **fields))
    metrics = staticmethod(lambda values: Metrics(schema=1, values=values))


@pytest.fixture
def build() -> type[Build]:
    return Build


Apart = Callable[[int], float]


def training(
    *,
    steps: int = 20,
    weights: Apart = lambda step: 0.0,
    loss: Apart = lambda step: 0.0,
    gradient: Apart = lambda step: 0.0,
    way: int = 0,
    **fields: Any,
) -> Trace:
    """A training of norm 1 that moves by 0.01 a step, and is apart from the plain one by what is asked.

    `weights` gives the distance of the weights after a step, `loss` and `gradient` the relative difference
    in it; `way` is the direction in which the weights are apart.
    """
    marks = {n: f"{hash((n, way)) & (2**63 - 1) if weights(n) else n:016x}" for n in range(steps + 1)}
    sampled = [n for n in range(steps + 1) if n <= 10 or n & (n - 1) == 0 or n == steps]
    rows = [
        Step(
            step=n,
            loss=(2.0 / n * (1 + loss(n))).hex(),
            nb=1,
            gn=(3.0 / n * (1 + gradient(n))).hex(),
            lr=[(0.1).hex()] if n == 1 else None,
            rng={"torch": f"{n:08x}"},
        )
        for n in range(1, steps + 1)
    ]
    shots = [
        StateSnapshot(step=n, weights=[marks[n]], norm2=(1.0).hex(), sketch=_sketch(n, weights(n), way))
        for n in sampled
    ]
    known = {"steps": Steps.of(rows), "snapshots": shots, **fields}
    return trace(msgspec.structs.replace(segment(steps), **known))


def _sketch(step: int, apart: float, way: int) -> list[str]:
    base = [1.0, 0.01 * step, *([0.0] * 30)]
    base[2 + way] += apart
    return [value.hex() for value in base]


@pytest.fixture
def train() -> Callable[..., Trace]:
    return training
