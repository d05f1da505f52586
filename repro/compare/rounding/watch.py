"""Watches a run while it trains beside a reference: says when it leaves the noise envelope, or diverges.

What is said here is a reason to look, or to stop paying. The verdict is made from the whole record.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, pstdev

from repro.compare.rounding.envelope import ENOUGH, FACTOR, FAR, JUDGED
from repro.compare.side import Side
from repro.compare.signals.tally import is_finite, number
from repro.compare.signals.walk import distance
from repro.model.trace import Segment, StateSnapshot, Step

TWICE = 2
_SPREADS = 5.0
_OF_LOSS, _OF_FIRST = 0.05, 0.01


@dataclass(frozen=True)
class Alarm:
    """Seen at a step, in a signal: kind is `beyond-rounding`, `diverged` or `note`."""

    kind: str
    step: int
    signal: str
    text: str


class Watch:
    """The reference and its members, against which a growing trace is held, record by record.

    The loss counts as diverged when it is not finite where the reference's is, or when its mean over a window
    lies further from the reference's than five times the spread of the reference's loss in that window (at
    least 5 % of it, and 1 % of the loss that training began with), in two windows running.
    """

    def __init__(self, reference: Side, members: Sequence[Side] = ()) -> None:
        own = _first_segment(reference)
        self._shots = _shots(own)
        self._envelope = _envelope(self._shots, [_shots(_first_segment(member)) for member in members])
        self._losses = _losses(own)
        self._window = min(max(len(self._losses) // 20, 16), 256)
        self._floor = _OF_FIRST * abs(fmean([*self._losses.values()][: self._window] or [0.0]))
        self._mine: dict[int, float] = {}
        self._outside: list[int] = []
        self._away = 0
        self._said: set[tuple[str, str]] = set()

    def take(self, record: Step | StateSnapshot) -> list[Alarm]:
        """What this record gives reason to say; each kind of thing is said once."""
        seen = self._step(record) if isinstance(record, Step) else self._shot(record)
        new = [alarm for alarm in seen if (alarm.kind, alarm.signal) not in self._said]
        self._said |= {(alarm.kind, alarm.signal) for alarm in new}
        return new

    def _shot(self, mine: StateSnapshot) -> Iterator[Alarm]:
        own = self._shots.get(mine.step)
        if own is None:
            return
        if mine.nonfinite and not own.nonfinite:
            yield Alarm("diverged", mine.step, "weights", f"{mine.nonfinite} weights are NaN or infinite")
        size, noise = distance(own, mine), self._envelope.get(mine.step)
        if size is None or not noise or size <= FACTOR * noise:
            return
        ratio = f"weights are {size:.1e} away, {size / noise:.3g} times the noise envelope ({noise:.1e})"
        if mine.step not in JUDGED:
            yield Alarm(
                "note", mine.step, "weights", f"{ratio}; steps above {JUDGED[-1]} are told, not judged"
            )
            return
        self._outside.append(mine.step)
        if size > FAR * noise or len(self._outside) >= TWICE:
            yield Alarm("beyond-rounding", mine.step, "weights", ratio)

    def _step(self, mine: Step) -> Iterator[Alarm]:
        own = self._losses.get(mine.step)
        if mine.loss is None or mine.skipped or own is None:
            return
        loss = number(mine.loss)
        if loss is None or not is_finite(mine.loss):
            yield Alarm(
                "diverged", mine.step, "loss", f"the loss is {mine.loss}, and {own:.4g} in the reference"
            )
            return
        self._mine[mine.step] = loss
        if mine.step % self._window == 0:
            yield from self._compare_window(mine.step)
            self._mine.clear()

    def _compare_window(self, step: int) -> Iterator[Alarm]:
        theirs = [self._losses[n] for n in self._mine]
        mean, here = fmean(theirs), fmean(self._mine.values())
        allowed = max(_SPREADS * pstdev(theirs), _OF_LOSS * abs(mean), self._floor)
        self._away = self._away + 1 if abs(here - mean) > allowed else 0
        if self._away >= TWICE:
            text = (
                f"mean loss of the last {len(theirs)} steps is {here:.4g}, and {mean:.4g} in the reference; "
                f"{allowed:.2g} apart would be usual"
            )
            yield Alarm("diverged", step, "mean loss", text)


def _first_segment(side: Side) -> Segment | None:
    return next(chain.from_iterable(trace.segments for trace in side.traces), None)


def _shots(segment: Segment | None) -> dict[int, StateSnapshot]:
    return {shot.step: shot for shot in segment.snapshots} if segment else {}


def _losses(segment: Segment | None) -> dict[int, float]:
    if segment is None:
        return {}
    column = segment.steps.column("loss")
    pairs = zip(segment.steps.number.tolist(), column.values.tolist(), column.known.tolist(), strict=True)
    found = {step: value for step, value, known in pairs if known}
    return {step: value for step, value in found.items() if value - value == 0}


def _envelope(own: dict[int, StateSnapshot], members: Sequence[dict[int, StateSnapshot]]) -> dict[int, float]:
    """Largest distance of a member from the reference at each step; nothing with too few members."""
    found: dict[int, float] = {}
    if len(members) < ENOUGH:
        return found
    for shots in members:
        for step in own.keys() & shots.keys():
            size = distance(own[step], shots[step])
            if step and size is not None:
                found[step] = max(found.get(step, 0.0), size)
    return found
