"""How large the difference is where two runs part: rounding, a shorter number format, or more."""

import math
from collections.abc import Iterable

import numpy as np

from repro.compare.lines.pair import Pair
from repro.compare.signals.firsttold import summed
from repro.compare.signals.measured import Measured
from repro.compare.signals.micro import micro_batches
from repro.compare.signals.tally import number
from repro.compare.signals.walk import distance
from repro.model.verdict import First

# Relative. Sums in another order move losses and gradient norms by 1e-7 to 1e-5 [measured: divergence 2.7];
# inputs cut to TF32 or bfloat16 by 1e-4 to 2e-2.
ROUNDING, SHORTER = 2e-5, 5e-2
# The same where tensors have half as many bits: one unit in the last place of bfloat16 is 0.8 %.
ROUNDING_OF_HALF = 1e-2
_HALF = ("float16", "bfloat16")
_NEAR = 0.1  # ratios are those of the micro-batches within this; batches that are not full move them
_NORM = 0.2
_STEADY = 3  # so many clipped norms that agree are no chance


def parts_at(pair: Pair, first: First) -> bool:
    """Whether this pair, and not another process or training, differs at that place."""
    if first.signal == "init":
        return 0 in pair.snapshots and pair.shots(0)[0].weights != pair.shots(0)[1].weights
    return first.step in pair.a.steps and first.step in pair.b.steps and _rows_differ(pair, first.step)


def facts(pair: Pair, step: int, found: Measured) -> set[str]:
    """`X~rounding`, `X~shorter`, `X~large` for weights, loss, gradient, evaluation; micro-batches."""
    rounding = ROUNDING_OF_HALF if is_half(pair) else ROUNDING
    known = {name: size for name, size in _sizes(pair, step) if size is not None}
    words = {f"{name}~{_word(size, rounding)}" for name, size in known.items() if size}
    words |= {f"{name}~none" for name, size in known.items() if size == 0}
    words |= set(_generators(pair, step)) | set(_clipped(pair)) | set(_evaluations(pair))
    words |= set(_micro(pair, step))
    words |= set(_nonfinite(pair, step)) | set(_norms(pair)) | set(_schedule(pair, step))
    return words | ({"results.differ"} if found.results.tally.differs else set())


def is_half(pair: Pair) -> bool:
    """Whether weights are kept in a type of 16 bits on both sides."""
    return all(
        any(row.get("dtype") in _HALF for row in line.start.get("params", [])) for line in (pair.a, pair.b)
    )


def _word(size: float, rounding: float) -> str:
    return "rounding" if size <= rounding else "shorter" if size <= SHORTER else "large"


def _sizes(pair: Pair, step: int) -> Iterable[tuple[str, float | None]]:
    if 0 in pair.snapshots:
        yield "init", distance(*pair.shots(0))
    if step in pair.a.steps and step in pair.b.steps:
        x, y = pair.at(step)
        yield "loss", _relative(x.loss, y.loss)
        yield "gradient", _relative(x.gn, y.gn)
    if step in pair.snapshots:
        yield "weights", distance(*pair.shots(step))
    differing = [(x, y) for x, y in pair.evaluations() if x.outputs != y.outputs]
    if differing:
        yield "outputs", distance(*differing[0])


def _relative(x: str | None, y: str | None) -> float | None:
    p, q = number(x or ""), number(y or "")
    if p is None or q is None or not math.isfinite(p - q):
        return None
    return abs(p - q) / max(abs(p), abs(q), 1e-300)


def _rows_differ(pair: Pair, step: int) -> bool:
    x, y = pair.at(step)
    same = (x.idx, x.batch, x.fwd, x.loss, x.gn, x.rng, x.lr) == (
        y.idx,
        y.batch,
        y.fwd,
        y.loss,
        y.gn,
        y.rng,
        y.lr,
    )
    return not same or (step in pair.snapshots and pair.shots(step)[0] != pair.shots(step)[1])


def _generators(pair: Pair, step: int) -> Iterable[str]:
    """`rng.torch.differs` and the like, and whether the sample numbers agree."""
    if step not in pair.a.steps or step not in pair.b.steps:
        return
    x, y = pair.at(step)
    for name in sorted(x.rng.keys() | y.rng.keys()):
        yield f"rng.{name}.{'equal' if x.rng.get(name) == y.rng.get(name) else 'differs'}"
    yield from _stopped(pair, step)
    if x.idx is not None and y.idx is not None:
        yield f"sample numbers.{'equal' if x.idx == y.idx else 'differs'}"
    else:
        yield "sample numbers.unknown"


def _stopped(pair: Pair, step: int) -> Iterable[str]:
    """Whether from this step on one side draws no numbers any more, and the other one goes on."""
    if step - 1 not in pair.a.steps or step - 1 not in pair.b.steps or step + 1 not in pair.steps:
        return
    before, now, after = (pair.at(n) for n in (step - 1, step, step + 1))
    still = [
        before[side].rng.get("torch")
        == now[side].rng.get("torch")
        == after[side].rng.get("torch")
        is not None
        for side in (0, 1)
    ]
    if still[0] != still[1]:
        yield "draws stopped on one side"


def _micro(pair: Pair, step: int) -> Iterable[str]:
    """How micro-batches differ, and whether loss and gradient stand in their ratio where they first do."""
    if step in pair.a.steps and step in pair.b.steps and summed(*pair.at(step)):
        yield "micro-batches.summed on one side"
    cut = micro_batches(pair)
    if cut is None or not cut.a or not cut.b:
        return
    yield "micro-batches.differ"
    x, y = pair.at(cut.step)
    for name, values in (("loss", (x.loss, y.loss)), ("gradient", (x.gn, y.gn))):
        p, q = (number(value or "") for value in values)
        if p and q and abs(q / p / (cut.b / cut.a) - 1) <= _NEAR:
            yield f"{name}.as micro-batches"


def _clipped(pair: Pair) -> Iterable[str]:
    """A side whose gradient norm is at one ceiling at several steps, while the other's goes beyond."""
    x, y = (column.values[column.known & np.isfinite(column.values)] for column in pair.column("gn"))
    for name, mine, other in (("a", x, y), ("b", y, x)):
        if not len(mine) or not len(other) or mine.max() > other.max():
            continue
        ceiling = mine.max()
        at_it = np.count_nonzero(mine >= ceiling * (1 - 1e-4))
        if at_it >= _STEADY and other.max() > ceiling * 1.001:
            yield f"clipped only in {name}"


def _evaluations(pair: Pair) -> Iterable[str]:
    """How the first evaluation that differs was made."""
    for x, y in pair.evaluations():
        if (x.mode, x.rows, x.inputs, x.outputs) == (y.mode, y.rows, y.inputs, y.outputs):
            continue
        yield f"evaluation mode.{'equal' if x.mode == y.mode else 'differs'}"
        if x.calls != y.calls:
            yield "evaluation calls.differ"
        yield f"evaluation rows.{'equal' if x.rows == y.rows else 'differs'}"
        if x.inputs and y.inputs:
            yield f"evaluation inputs.{'equal' if x.inputs == y.inputs else 'differs'}"
        if x.outputs and y.outputs:
            yield f"evaluation outputs.{'equal' if x.outputs == y.outputs else 'differs'}"
        return
    if pair.evaluations():
        yield "evaluation outputs.equal"


def _nonfinite(pair: Pair, step: int) -> Iterable[str]:
    if step in pair.snapshots:
        x, y = pair.shots(step)
        if bool(x.nonfinite) != bool(y.nonfinite):
            yield "not finite on one side"


def _norms(pair: Pair) -> Iterable[str]:
    """Whether the initial weights have one size all in all; draws of one rule agree within a few per cent."""
    if 0 not in pair.snapshots:
        return
    x, y = (number(shot.norm2 or "") for shot in pair.shots(0))
    if x and y and math.isfinite(x * y):
        yield f"init norm.{'differs' if abs(x / y - 1) > _NORM else 'equal'}"


def _schedule(pair: Pair, step: int) -> Iterable[str]:
    """Learning rates at the step, steps that a scaler left out up to it, checkpoints loaded before it."""
    if step in pair.a.steps and step in pair.b.steps:
        x, y = pair.at(step)
        if x.lr != y.lr:
            yield "learning rates.differ"
        if x.skipped != y.skipped:
            yield "skipped steps.differ"
    left = [[x for x in line.events if x.get("what") == "scaler-skip"] for line in (pair.a, pair.b)]
    early = [[x for x in rows if isinstance(x.get("step"), int) and x["step"] <= step] for rows in left]
    if len(early[0]) != len(early[1]):
        yield "skipped steps.differ"
    resumed = [
        any("resumed" in note or "its first state is" in note for note in line.notes)
        for line in (pair.a, pair.b)
    ]
    if resumed[0] != resumed[1]:
        yield "resumed on one side"
    if any("not restored" in note for line in (pair.a, pair.b) for note in line.notes):
        yield "state.not restored"
