"""A verdict with every field filled, curves to it, and words that try to get out of where they are put."""

import math

import msgspec

from repro.model.curves import Curves, Line, Usage
from repro.model.verdict import (
    Condition,
    First,
    MetricRow,
    ModuleRow,
    ProtocolDifference,
    Replay,
    Verdict,
)

from . import parts

HOSTILE = (
    "</title></style><script>alert(1)</script><img src=http://x.example/y.png onerror='alert(2)'>\"'`|[a](b)"
)


def metric(name: str, a: float, b: float, margin: float | None = None) -> MetricRow:
    declared = margin is not None
    return MetricRow(
        name=name, a=a.hex(), b=b.hex(), difference=(b - a).hex(), margin=margin, declared=declared
    )


def full() -> Verdict:
    """A run on another card: TF32 in the convolutions, beyond rounding, and the same result in the end."""
    return Verdict(
        verdict="different-but-equivalent",
        numerics="beyond-rounding",
        outcome="different-but-equivalent",
        basis="members",
        repeatable=True,
        a="20261130-101500-digits-v100-1f2e (V100, reference)",
        b="20261201-081512-digits-a100-9ab0 (A100)",
        first=First(signal="forward", step=1, module="features.conv1"),
        signals=parts.signals(),
        protocol_differences=[
            ProtocolDifference(
                key="card", a="Tesla V100-SXM2-16GB", b="NVIDIA A100-SXM4-80GB", class_="factor"
            ),
            ProtocolDifference(key="params.workers", a=2, b=4, class_="must-equal", allowed=True),
            ProtocolDifference(key="label", a="V100, reference", b="A100", class_="recorded"),
        ],
        conditions_that_differ=parts.conditions(),
        metrics=[metric("eval_acc", 0.9925, 0.9905, 0.01), metric("eval_loss", 0.02441, 0.02389)],
        flips={"examples": 450, "disagreements": 7, "only_a_correct": 4, "only_b_correct": 2},
        noise={"members": [0, 5], "seeds": [10, 22]},
        cause=parts.cause(),
        evidence=[
            "11 of 11 judged steps are outside: 4067 times the largest distance of the members at step 1",
            "`features.conv1` has equal inputs at step 1 and other outputs: 3.1e-4, as TF32 makes it",
            "allowed to differ by request: params.workers",
        ],
        not_controlled=[
            "hash seed: random in both runs, so sets of strings may be walked in another order",
            "eval: 12 values are not recorded in b",
        ],
        envelope=parts.envelope(),
        replay=parts.replay(),
        statistics=parts.statistics(),
    )


def hostile() -> Verdict:
    """The same with text in every place that tries to be markup."""
    base = full()
    return msgspec.structs.replace(
        base,
        a=f"r1 ({HOSTILE})",
        b=HOSTILE,
        first=First(signal="loss", step=1, module=HOSTILE),
        protocol_differences=[ProtocolDifference(key=HOSTILE, a=HOSTILE, b=[HOSTILE], class_="must-equal")],
        conditions_that_differ=[Condition(key=HOSTILE, a=HOSTILE, b=None, risk="high", why=HOSTILE)],
        metrics=[metric(HOSTILE, 1.0, 2.0, 0.1)],
        statistics=[msgspec.structs.replace(base.statistics[0], metric=HOSTILE)],
        cause={"code": "x", "why": HOSTILE, "pin": HOSTILE, "because": [HOSTILE], "also": [HOSTILE]},
        evidence=[HOSTILE],
        not_controlled=[HOSTILE],
        replay=Replay(
            steps=[1],
            origin=None,
            rows=[ModuleRow(step=1, n=1, module=HOSTILE, class_=HOSTILE, kind="defect", fits=[HOSTILE])],
            notes=[HOSTILE],
        ),
    )


def curves() -> Curves:
    """Losses that fall, step times with a swing, and what both runs took."""
    steps = list(range(1, 505, 2))
    a = [2.3 * math.exp(-s / 90) + 0.05 + 0.02 * math.sin(s) for s in steps]
    b = [x * (1 + 2e-4 * math.sin(s * 1.7) * min(s, 100)) for s, x in zip(steps, a, strict=True)]
    gap = [abs(y - x) / max(x, y) for x, y in zip(a, b, strict=True)]
    members = [
        Line(steps=parts.STEPS, low=high, high=high, count=len(parts.STEPS))
        for k in (0.5, 0.8, 1.0)
        for high in [[(row.envelope or 0.0) * k for row in parts.envelope().rows]]
    ]
    return Curves(
        loss=(_line(steps, a, 0.02), _line(steps, b, 0.02)),
        gap=_line(steps, gap, 0.0),
        members=members,
        step_seconds=(
            _line(steps, [0.0123] * len(steps), 0.0004),
            _line(steps, [0.0052] * len(steps), 0.0003),
        ),
        usage=(
            Usage(
                steps=504,
                seconds=12.4,
                step_seconds=0.0123,
                share=0.0061,
                host_bytes=812 << 20,
                allocated_bytes=95 << 20,
            ),
            Usage(
                steps=504,
                seconds=5.9,
                step_seconds=0.0052,
                share=0.0094,
                host_bytes=1300 << 20,
                allocated_bytes=104 << 20,
            ),
        ),
    )


def _line(steps: list[int], values: list[float], swing: float) -> Line:
    return Line(
        steps=steps,
        low=[v * (1 - swing) for v in values],
        high=[v * (1 + swing) for v in values],
        count=2 * len(steps),
    )
