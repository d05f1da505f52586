"""The parts of a filled verdict, one function a field."""

from typing import Any

from repro.model.verdict import (
    Condition,
    Envelope,
    EnvelopeRow,
    ModuleRow,
    Replay,
    Signal,
    Statistic,
)

STEPS = [*range(11), 16, 32, 64, 128, 256, 504]


def signals() -> dict[str, Signal]:
    return {
        "init": Signal(compared=22),
        "samples": Signal(compared=1008),
        "rng": Signal(compared=504),
        "forward": Signal(compared=504, first_step=1),
        "loss": Signal(compared=504, first_step=1, largest=0.031, largest_relative=0.012),
        "gradient": Signal(compared=504, first_step=1, largest=0.4, largest_relative=0.051),
        "update": Signal(compared=504, first_step=2, largest=None),
        "weights": Signal(compared=340, first_step=1, largest_relative=0.029),
    }


def conditions() -> list[Condition]:
    rows: list[tuple[str, Any, Any, str, str]] = [
        (
            "device.name",
            "Tesla V100-SXM2-16GB",
            "NVIDIA A100-SXM4-80GB",
            "high",
            "kernels are chosen by the card",
        ),
        (
            "device.capability",
            "7.0",
            "8.0",
            "high",
            "8.0 and later compute float32 convolutions in TF32 unless told not to",
        ),
        ("flags.cudnn.allow_tf32", True, True, "high", "in force only on capability 8.0 and later"),
        (
            "device.driver",
            "535.104.05",
            "550.54.15",
            "medium",
            "the driver compiles PTX and brings cuBLAS workspaces",
        ),
        (
            "env.CUBLAS_WORKSPACE_CONFIG",
            None,
            ":4096:8",
            "medium",
            "without it cuBLAS may choose by free memory",
        ),
        ("packages.numpy", "1.26.4", "2.1.0", "low", ""),
    ]
    return [Condition(key=key, a=a, b=b, risk=risk, why=why) for key, a, b, risk, why in rows]


def cause() -> dict[str, Any]:
    return {
        "code": "tf32-one-side",
        "why": "on capability 8.0 and later cuDNN computes float32 convolutions in TF32: 10-bit mantissas",
        "pin": "torch.backends.cudnn.allow_tf32 = False",
        "because": ["device.capability", "features.conv1: precision tf32"],
        "also": [],
        "sure": "proven",
        "next": [],
        "source": "CUDA semantics, PyTorch documentation",
    }


def envelope() -> Envelope:
    rows = []
    for step in STEPS:
        noise = 0.0 if step == 0 else 8e-8 * min(1 + 0.35 * step, 900) * (40 if step > 20 else 1)
        distance = 0.0 if step == 0 else 3.6e-4 * min(1 + 0.22 * step, 80)
        rows.append(
            EnvelopeRow(
                step=step,
                distance=distance,
                envelope=noise,
                ratio=distance / noise if noise else None,
                judged=1 <= step <= 16,
            )
        )
    return Envelope(members=3, factor=5.0, growth="jump", jump=1, rows=rows)


def replay() -> Replay:
    origin = ModuleRow(
        step=1,
        n=1,
        module="features.conv1",
        class_="Conv2d",
        kind="precision",
        outputs_equal=False,
        relative=3.1e-4,
        tolerance=2.4e-7,
        fits=["tf32"],
    )
    names = [
        "features.bn1",
        "features.relu1",
        "features.conv2",
        "features.bn2",
        "features.relu2",
        "pool",
        "fc",
        "",
    ]
    after = [
        ModuleRow(
            step=1,
            n=n,
            module=name,
            class_=name.rpartition(".")[2].rstrip("12").capitalize() or "Net",
            kind="propagated",
            inputs_equal=False,
            outputs_equal=False,
            relative=3e-4 * n,
        )
        for n, name in enumerate(names, 2)
    ]
    gradient = ModuleRow(
        step=1,
        n=40,
        module="fc.bias",
        phase="backward",
        kind="rounding",
        outputs_equal=False,
        relative=6e-8,
        tolerance=9e-8,
    )
    algorithm = ModuleRow(
        step=4,
        n=3,
        module="features.conv2",
        class_="Conv2d",
        kind="algorithm",
        relative=9e-7,
        tolerance=2.4e-7,
    )
    return Replay(
        steps=[1, 4],
        origin=origin,
        rows=[*after, gradient, origin, algorithm],
        notes=["dropout draws are equal"],
    )


def statistics() -> list[Statistic]:
    return [
        Statistic(
            metric="eval_acc",
            n=(5, 5),
            paired=True,
            correlation=0.91,
            mean=(0.9921, 0.9902),
            deviation=(0.0014, 0.0016),
            difference=-0.0019,
            low=-0.0028,
            high=-0.0010,
            margin=0.01,
            p_difference=0.011,
            p_equivalence=0.00004,
            floor=0.0042,
            outcome="different-but-equivalent",
        ),
        Statistic(
            metric="eval_loss",
            n=(5, 1),
            mean=(0.0251, 0.0239),
            deviation=(0.0011, None),
            difference=-0.0012,
            predicted=(0.0218, 0.0284),
            needed=8,
            outcome="inconclusive",
        ),
    ]
