"""What the runs are seen to have done of their protocol: seed checkpoint, effective batch, precision policy.

Divergence.md 4 has these among what must be equal. An effective batch or a precision that differs because
something declared does (a parameter, the code, the torch release with other defaults, a variable that
overrides a setting) is told as a factor: that difference stands at the gate itself, and allowing it allows
what follows from it. One that nothing declared explains, such as a script that takes bfloat16 where the card
has it, is refused.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from repro.compare.side import Side
from repro.model.verdict import ProtocolDifference

MUST, FACTOR, RECORDED = "must-equal", "factor", "recorded"

_ON_CARDS = {
    "precision.cuda_matmul_tf32": "flags.cuda_matmul_allow_tf32",
    "precision.cudnn_tf32": "flags.cudnn_allow_tf32",
}
_EVERYWHERE = {
    "precision.float32_matmul": "flags.float32_matmul_precision",
    "precision.default_dtype": "flags.default_dtype",
}
_DTYPES = ("bfloat16", "float16")
_UNREAD = ("absent", "unknown", "mixed")
_OVERRIDES = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
_PLAN = {"perturb": FACTOR, "sync": RECORDED, "dense": RECORDED, "stop": RECORDED}


def differences(a: Side, b: Side, declared: Sequence[ProtocolDifference]) -> Iterator[ProtocolDifference]:
    """Rows for what differs; `declared` are the rows for what was declared."""
    yield from _plan(a, b)
    class_ = FACTOR if _explained(a, b, declared) else MUST
    for key, x, y in (*_precision(a, b), *_batch(a, b)):
        yield _row(key, x, y, class_)


def follows(row: ProtocolDifference) -> bool:
    """Whether a row tells what came of another difference, instead of something that was declared."""
    return row.key == "effective_batch" or row.key.startswith("precision.")


def _explained(a: Side, b: Side, declared: Sequence[ProtocolDifference]) -> bool:
    x, y = a.run.conditions.get("torch.version"), b.run.conditions.get("torch.version")
    overridden = any(_override(a, name) != _override(b, name) for name in _OVERRIDES)
    return x != y or overridden or any(row.class_ == MUST for row in declared)


def _override(side: Side, name: str) -> Any:
    return side.run.conditions.get(f"env.{name}", side.run.attempt.environment.get(name))


def _plan(a: Side, b: Side) -> Iterator[ProtocolDifference]:
    """From which stored state the runs started, and what else the runtime was asked to do to them."""
    x, y = a.run.attempt.plan, b.run.attempt.plan
    p, q = x.get("seed") or "", y.get("seed") or ""
    if p != q:
        # Weights that were made by the program itself can be the very same: then the signal `init` shows it.
        yield _row("seed_checkpoint", p or None, q or None, MUST if p and q else RECORDED)
    for name, class_ in _PLAN.items():
        if (x.get(name) or None) != (y.get(name) or None):
            yield _row(f"plan.{name}", x.get(name), y.get(name), class_)


def _precision(a: Side, b: Side) -> Iterator[tuple[str, Any, Any]]:
    p, q = _autocast(a), _autocast(b)
    if None not in (p, q) and p != q:
        yield "precision.autocast", p, q
    on_cards = "cuda" in (a.run.conditions.get("device.type"), b.run.conditions.get("device.type"))
    for key, name in {**_EVERYWHERE, **(_ON_CARDS if on_cards else {})}.items():
        x, y = a.run.conditions.get(name), b.run.conditions.get(name)
        if _read(x) and _read(y) and x != y:
            yield key, x, y


def _autocast(side: Side) -> str | None:
    """Types that autocast used, whatever the device; None where that is not known."""
    text = side.run.conditions.get("flags.autocast")
    if not _read(text):
        return None
    return ", ".join(name for name in _DTYPES if name in str(text).split()) or "off"


def _read(value: Any) -> bool:
    return value is not None and not str(value).startswith(_UNREAD)


def _batch(a: Side, b: Side) -> Iterator[tuple[str, Any, Any]]:
    x, y = _effective_batch(a), _effective_batch(b)
    if x is not None and y is not None and x != y:
        yield "effective_batch", x, y


def _effective_batch(side: Side) -> int | None:
    """Samples of the first optimizer step: micro-batches times the loader's batch; None without a loader."""
    size = side.run.conditions.get("loader.batch_size")
    steps = next((part.steps for trace in side.traces for part in trace.segments if len(part.steps)), None)
    if not isinstance(size, int) or steps is None:
        return None
    return size * int(steps.column("nb").values[0]) or None


def _row(key: str, a: Any, b: Any, class_: str) -> ProtocolDifference:
    return ProtocolDifference(key=key, a=a, b=b, class_=class_)
