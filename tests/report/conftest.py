"""Verdicts and runs as the judge and the readers make them, for the forms they are shown in."""

from pathlib import Path
from typing import Any

import pytest

from repro.model.run import Attempt, Gate, Memory, Metrics, RunFolder
from repro.model.trace import Segment, Step, Steps, Trace
from repro.model.verdict import (
    Condition,
    First,
    MetricRow,
    ProtocolDifference,
    Signal,
    Verdict,
)

from .pages import full, metric

SIMD_WHY = "another SIMD level sums in another order, and normal draws of one seed differ in the last bit"
GOLDEN = Path(__file__).parent / "golden"


def plain(**fields: Any) -> Verdict:
    known = {
        "verdict": "identical",
        "numerics": "identical",
        "outcome": "equivalent",
        "a": "20261130-101500-digits-cpu-1f2e (avx2)",
        "b": "20261130-101512-digits-cpu-9ab0 (again)",
        "first": None,
        "signals": {
            "init": Signal(compared=10),
            "samples": Signal(compared=240),
            "rng": Signal(compared=120),
            "loss": Signal(compared=120),
            "gradient": Signal(compared=120),
            "update": Signal(compared=280),
            "weights": Signal(compared=160),
            "eval": Signal(compared=1802),
        },
        "protocol_differences": [
            ProtocolDifference(key="label", a="avx2", b="again", class_="recorded"),
        ],
        "conditions_that_differ": [],
        "metrics": [metric("eval_acc", 0.9125, 0.9125, 0.01)],
        "flips": {"examples": 450, "disagreements": 0, "only_a_correct": 0, "only_b_correct": 0},
        "cause": None,
        "evidence": [
            "equal in every bit over 120 steps, final weights included; values compared: 10 of init"
        ],
        "not_controlled": ["forward: not compared, outputs of modules are not recorded"],
    }
    return Verdict(**{**known, **fields})


def simd() -> Verdict:
    return plain(
        verdict="inconclusive",
        numerics="untested",
        outcome="inconclusive",
        b="20261130-101530-digits-cpu-77c1 (default)",
        first=First(signal="init", step=0),
        signals={
            "init": Signal(compared=10, first_step=0, largest=None, largest_relative=2.134e-08),
            "samples": Signal(compared=240),
            "rng": Signal(compared=120),
            "loss": Signal(compared=120, first_step=1, largest=1.1920929e-07, largest_relative=5.1e-08),
            "gradient": Signal(compared=120, first_step=1, largest=3.4e-06, largest_relative=1.2e-06),
            "update": Signal(compared=280, first_step=1),
            "weights": Signal(compared=160, first_step=1, largest_relative=4.2e-06),
            "eval": Signal(compared=1802, first_step=120, largest=0.0022222, largest_relative=0.0024),
        },
        protocol_differences=[
            ProtocolDifference(key="environment.ATEN_CPU_CAPABILITY", a=None, b="default", class_="factor"),
            ProtocolDifference(key="label", a="avx2", b="default", class_="recorded"),
        ],
        conditions_that_differ=[
            Condition(
                key="cpu.capability",
                a="AVX2",
                b="DEFAULT",
                risk="high",
                why=SIMD_WHY,
            ),
            Condition(
                key="env.ATEN_CPU_CAPABILITY",
                a=None,
                b="default",
                risk="high",
                why="chooses the SIMD level of torch's own CPU kernels",
            ),
            Condition(
                key="torch.build",
                a="PyTorch built with:\n - GCC 13.3\n - C++ Version: 202002\n - CPU capability usage: AVX2",
                b="PyTorch built with:\n - GCC 13.3\n - C++ Version: 202002\n - CPU capability usage: NO AVX",
                risk="medium",
                why="compiler, BLAS and oneDNN of the build decide the order of sums",
            ),
        ],
        metrics=[metric("eval_acc", 0.9125, 0.91, 0.01), metric("train_seconds", 3.25, 9.5)],
        flips={"examples": 450, "disagreements": 3, "only_a_correct": 2, "only_b_correct": 1},
        cause={
            "code": "cpu-capability-init",
            "why": "the same seed gives other initial weights at another SIMD level",
            "pin": "start both from one seed checkpoint, or set ATEN_CPU_CAPABILITY alike",
            "because": ["environment.ATEN_CPU_CAPABILITY", "cpu.capability", "env.ATEN_CPU_CAPABILITY"],
            "also": [],
        },
        evidence=[
            "not called identical: there are differences in init, loss, weights; the results differ",
            "whether the difference is rounding or more was not tested: no noise envelope was measured",
            "`eval_acc` differs by -0.0025, inside the declared margin of 0.01",
        ],
    )


def learning_rate() -> Verdict:
    return plain(
        verdict="incomparable",
        numerics="untested",
        outcome="inconclusive",
        first=First(signal="update", step=1),
        protocol_differences=[
            ProtocolDifference(key="params.lr", a=0.05, b=0.1, class_="must-equal"),
            ProtocolDifference(key="params.note", a="", b="a | b <b>", class_="must-equal", allowed=True),
        ],
        signals={"init": Signal(compared=10), "update": Signal(compared=280, first_step=1, largest=0.05)},
        cause={
            "code": "parameter",
            "why": "the runs were asked for different things",
            "pin": "give both runs the same parameters and the same command",
            "because": ["params.lr"],
            "also": ["cpu.capability"],
        },
        evidence=["must be equal and differs: params.lr"],
        flips=None,
        metrics=[MetricRow(name="loss", a="nan", b="", difference="")],
    )


VERDICTS = {"identical": plain, "simd": simd, "learning_rate": learning_rate, "full": full}


@pytest.fixture(params=sorted(VERDICTS))
def named_verdict(request: pytest.FixtureRequest) -> tuple[str, Verdict]:
    return request.param, VERDICTS[request.param]()


@pytest.fixture
def verdict() -> Verdict:
    return simd()


@pytest.fixture
def run() -> RunFolder:
    return RunFolder(
        path="/bundles/digits/runs/r1",
        folder="/bundles/digits/runs/r1/attempt-1",
        complete=True,
        attempt=Attempt(
            schema=1,
            attempt=1,
            status="ok",
            run_id="20261130-101500-digits-cpu-1f2e",
            label="avx2",
            engine="docker",
            command=["python", "train.py", "--params", "{params}", "--token=abc123"],
            exit_code=0,
            started=(1000.0).hex(),
            ended=(1083.5).hex(),
        ),
        conditions={
            "torch.version": "2.13.0+cpu",
            "python.version": "3.11.2",
            "device.type": "cpu",
            "cpu.model": "Xeon",
            "cpu.capability": "AVX2",
            "threads.intra": 2,
            "env.OMP_NUM_THREADS": "2",
        },
        gates=[
            Gate(name="eval-files", status="passed", reason="3 files as packed"),
            Gate(
                name="reload",
                status="unknown",
                reason="the program saved no checkpoint that could be loaded again",
            ),
        ],
        metrics=Metrics(
            schema=1, values={"eval_acc": (0.9125).hex(), "eval_loss": (0.25).hex()}, source="metrics.json"
        ),
        memory=Memory(schema=1, host_bytes=512 << 20, step=3, note="no device"),
    )


@pytest.fixture
def traces() -> list[Trace]:
    steps = Steps.of([Step(step=n, loss=(1 / n).hex()) for n in range(1, 9)])
    return [Trace(rank=0, segments=[Segment(start={"format": 1}, steps=steps)], file="trace-0.jsonl")]


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Hold text against a file that is checked in; `--update-golden` is `REPRO_UPDATE_GOLDEN=1`."""
    import os

    def check(name: str, words: str) -> None:
        path = GOLDEN / name
        if os.environ.get("REPRO_UPDATE_GOLDEN"):
            path.write_text(words, "utf-8")
        assert words == path.read_text("utf-8")

    return check
