"""Gradients of a dense step: where a difference arises in backward, when forward is equal in every bit."""

from collections.abc import Iterator, Sequence
from math import prod

from repro.compare.rounding import tolerance
from repro.compare.rounding.calls import Calls
from repro.model.trace import Gradients, ModuleCall, Seen
from repro.model.verdict import ModuleRow


def gradient_rows(
    step: int, a: Gradients, b: Gradients, *, names: Sequence[str], calls: Calls, forward: Sequence[ModuleRow]
) -> Iterator[ModuleRow]:
    """One row a parameter, in the order in which backward reaches them: from the loss to the inputs.

    The first that differs is the origin when all of forward is equal; without that, all are propagated.
    """
    arises = bool(forward) and all(row.kind == "equal" for row in forward)
    count = min(len(a.grads), len(b.grads))
    reached = _reached(names, calls, count)
    for place in sorted(range(count), key=lambda place: (-reached[place][0], -place)):
        x, y = a.grads[place], b.grads[place]
        name = names[place] if place < len(names) else f"parameter {place}"
        row = _row(step, place, name, x, y, reached[place][1])
        if row.kind not in ("equal", "propagated"):
            row = row if arises else _passed_on(row)
            arises = False
        yield row


def _row(
    step: int, place: int, name: str, x: Seen | None, y: Seen | None, call: ModuleCall | None
) -> ModuleRow:
    if (x is None) != (y is None):
        judged = tolerance.Judged(tolerance.DEFECT, None, None)
    else:
        judged = tolerance.judge([x] if x else [], [y] if y else [], _terms(call))
    equal = (x is None) == (y is None) and tolerance.same([x] if x else [], [y] if y else [])
    return ModuleRow(
        step=step,
        n=place,
        module=name,
        phase="backward",
        kind="equal" if equal else judged.kind,
        outputs_equal=equal,
        relative=0.0 if equal else judged.relative,
        tolerance=judged.tolerance,
        fits=[] if equal else list(judged.fits),
    )


def _passed_on(row: ModuleRow) -> ModuleRow:
    return ModuleRow(
        step=row.step,
        n=row.n,
        module=row.module,
        phase=row.phase,
        kind="propagated",
        inputs_equal=False,
        outputs_equal=False,
        relative=row.relative,
        tolerance=row.tolerance,
    )


def _reached(names: Sequence[str], calls: Calls, count: int) -> dict[int, tuple[int, ModuleCall | None]]:
    """For each parameter when its module was called last, and that call; later is nearer to the loss."""
    by_module = {call.a.module: call.a for call in sorted(calls.both, key=lambda call: call.a.n)}
    found: dict[int, tuple[int, ModuleCall | None]] = {}
    for place in range(count):
        call = by_module.get(names[place].rpartition(".")[0]) if place < len(names) else None
        found[place] = (call.n if call else -1, call)
    return found


def _terms(call: ModuleCall | None) -> int | None:
    """Numbers that one element of a weight's gradient adds up: the rows of what went into its module."""
    shape = call.inputs[0].shape if call and call.inputs else []
    return prod(shape[:-1]) if len(shape) > 1 else None
