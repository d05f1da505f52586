"""Dense steps of two sides, module by module: where a difference arises, and where it is only passed on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from repro.compare.lines.pair import Pair
from repro.compare.rounding import tolerance
from repro.compare.rounding.backward import gradient_rows
from repro.compare.rounding.calls import Call, Calls, paired
from repro.compare.rounding.unit import limit
from repro.compare.side import Side
from repro.compare.signals.align import aligned, by_part
from repro.model.trace import Seen
from repro.model.verdict import ModuleRow, Replay

ORIGINS = ("functional", tolerance.ROUNDING, tolerance.ALGORITHM, tolerance.PRECISION, tolerance.DEFECT)


def replay(a: Side, b: Side) -> Replay:
    """Rows of every module call and gradient that both sides recorded; the first origin as they ran."""
    rows: list[ModuleRow] = []
    notes: list[str] = []
    steps: set[int] = set()
    for pair in _pairs(a, b):
        for step, (x, y) in pair.calls().items():
            calls = paired(x, y)
            forward = _forward(step, calls)
            rows += forward
            notes += [f"step {step}: {said}" for said in calls.alone]
            steps.add(step)
            if step in (gradients := pair.gradients()):
                rows += gradient_rows(
                    step, *gradients[step], names=_names(pair), calls=calls, forward=forward
                )
    origin = next((row for row in rows if row.kind in ORIGINS), None)
    return Replay(steps=sorted(steps), origin=origin, rows=rows, notes=[*notes, *_notes(origin, rows)])


def origins(found: Replay) -> list[ModuleRow]:
    """Every row where a difference arises, in order of execution."""
    return [row for row in found.rows if row.kind in ORIGINS]


def size(row: ModuleRow) -> str:
    """The kind of an origin by its size alone, also for an operation between modules."""
    if row.kind != "functional":
        return row.kind
    if row.relative is None or row.tolerance is None:
        return tolerance.DEFECT
    if row.relative <= row.tolerance:
        return tolerance.ROUNDING
    return tolerance.ALGORITHM if row.relative <= limit("beyond") * row.tolerance else tolerance.PRECISION


@dataclass(frozen=True)
class _Judging:
    """One step's calls with what is known of where differences came from.

    Attributes:
        first: place of the first call whose outputs differ; past the last without one.
        by_number: places by the numbers in which calls began.
    """

    step: int
    calls: Calls
    first: int
    by_number: dict[int, int]

    def row(self, place: int) -> ModuleRow:
        """What one call shows."""
        call, inside = self.calls.both[place], self.calls.within(place)
        if not call.inputs_equal and not self._fed(place):
            return self._between(call, self._before(place), call.a.inputs, call.b.inputs)
        if call.outputs_equal:
            return self._judged(call, "equal")
        if not (call.inputs_equal and call.weights_equal) or not all(one.equal for one in inside):
            return self._judged(call, "propagated")
        if inside:
            between = f"after {inside[-1].a.module} in {_named(call)}"
            return self._between(call, between, call.a.outputs, call.b.outputs)
        return self._judged(call)

    def _fed(self, place: int) -> bool:
        """Whether anything recorded before the call began differs already, so that it may come from there."""
        if self.first < place - self.calls.both[place].inside:
            return True
        return any(
            not (one.inputs_equal and one.weights_equal) for one in self._around(self.calls.both[place])
        )

    def _around(self, call: Call) -> Iterator[Call]:
        """Calls that this one was made in, the innermost first."""
        while call.a.parent is not None and call.a.parent in self.by_number:
            call = self.calls.both[self.by_number[call.a.parent]]
            yield call

    def _before(self, place: int) -> str:
        leaf = next((one.a.module for one in reversed(self.calls.before(place)) if one.a.leaf), "")
        here = _named(self.calls.both[place])
        return f"between {leaf} and {here}" if leaf else f"before {here}"

    def _judged(self, call: Call, kind: str = "") -> ModuleRow:
        judged = tolerance.judge(call.a.outputs, call.b.outputs, call.a.terms)
        return _row(self.step, call, kind or judged.kind, judged)

    def _between(self, call: Call, place: str, x: Sequence[Seen], y: Sequence[Seen]) -> ModuleRow:
        return _row(self.step, call, "functional", tolerance.judge(x, y, None), place)


def _forward(step: int, calls: Calls) -> list[ModuleRow]:
    first = next((place for place, call in enumerate(calls.both) if not call.outputs_equal), len(calls.both))
    by_number = {call.a.n: place for place, call in enumerate(calls.both)}
    judging = _Judging(step, calls, first, by_number)
    return [judging.row(place) for place in range(len(calls.both))]


def _row(step: int, call: Call, kind: str, judged: tolerance.Judged, place: str = "") -> ModuleRow:
    return ModuleRow(
        step=step,
        n=call.a.n,
        module=place or call.a.module,
        class_=call.a.class_,
        kind=kind,
        inputs_equal=call.inputs_equal,
        weights_equal=call.weights_equal,
        outputs_equal=call.outputs_equal,
        relative=judged.relative if kind != "equal" else 0.0,
        tolerance=judged.tolerance,
        fits=list(judged.fits) if kind in ORIGINS else [],
    )


def _pairs(a: Side, b: Side) -> Iterator[Pair]:
    x, y = by_part(a.traces), by_part(b.traces)
    for name in x:
        for first, second in aligned(x[name], y[name]) if name in y else ():
            if first and second:
                yield Pair.of(first, second)


def _names(pair: Pair) -> list[str]:
    return [str(tensor.get("name", "")) for tensor in pair.a.start.get("params") or []]


def _named(call: Call) -> str:
    return call.a.module or "the outermost module"


def _notes(origin: ModuleRow | None, rows: Sequence[ModuleRow]) -> Iterator[str]:
    if not rows:
        yield "no dense step is common to both sides"
    elif origin is None:
        yield "every module and every gradient is equal in every bit, or differs only because its inputs do"
    elif "dropout" in origin.class_.lower():
        yield f"{origin.module} draws random numbers: its generator was not in the same state on both sides"
