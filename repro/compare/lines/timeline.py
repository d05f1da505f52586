"""One training of one process, put together from the segments of its trace."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec
import numpy as np

from repro.model.record import Json
from repro.model.trace import Evaluation, Gradients, ModuleCall, Segment, StateSnapshot, Steps

Dated = TypeVar("Dated", Evaluation, ModuleCall, Gradients)
SHOWN = 3


@dataclass(frozen=True, eq=False)
class Joint:
    """Where a training goes on in another segment, or begins at a state of the other run.

    Attributes:
        step: number of the common state. state: as the part that goes on had it.
        before: what the same process had recorded up to there and after it, before it was stopped.
    """

    step: int
    state: StateSnapshot | None
    before: "Timeline | None" = None


@dataclass(eq=False)
class Timeline:
    """One training of one process.

    Attributes:
        steps: by number; snapshots too, where 0 is the state before the first step.
        begins: number that its first recorded state has on the count that both sides share.
        notes: how it was placed and what it lacks, as sentences without the side's name.
        evaluations, calls, gradients: as in the trace, in order, with `step` on the common count.
        events: as in the trace, with `step` on the common count where they have one.
        joints: where it goes on after a break, in order.
    """

    start: Json = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps.empty)
    snapshots: dict[int, StateSnapshot] = field(default_factory=dict)
    begins: int = 0
    notes: list[str] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    calls: list[ModuleCall] = field(default_factory=list)
    gradients: list[Gradients] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Number of the last recorded step; 0 without one."""
        return self.steps.last

    @property
    def first_state(self) -> StateSnapshot | None:
        """The state it begins with, where that was recorded."""
        return self.snapshots.get(self.begins)

    def add(self, segment: Segment, shift: int) -> None:
        """Take the segment's records under numbers larger by `shift`, after all that is there."""
        if len(self.steps) or self.snapshots:
            first = min(segment.snapshots, key=lambda shot: shot.step, default=None)
            self.joints = [*self.joints, Joint(self.last, first)]
        self.steps = Steps.joined([self.steps, segment.steps.shifted(shift)])
        for shot in segment.snapshots:
            self.snapshots.setdefault(shot.step + shift, shot)
        self.evaluations = self.evaluations + _dated(segment.evaluations, shift)
        self.calls = self.calls + _dated(segment.calls, shift)
        self.gradients = self.gradients + _dated(segment.gradients, shift)
        self.events = self.events + _moved(segment.events, shift)
        self.notes = self.notes + lacking(segment, shift)

    def shift(self, by: int) -> None:
        """Count all steps from another number."""
        self.steps = self.steps.shifted(by)
        self.snapshots = {n + by: shot for n, shot in self.snapshots.items()}
        self.evaluations = _dated(self.evaluations, by)
        self.calls = _dated(self.calls, by)
        self.gradients = _dated(self.gradients, by)
        self.events = _moved(self.events, by)
        self.joints = [replace(joint, step=joint.step + by) for joint in self.joints]
        self.begins += by

    def go_on(self, at: int, rest: "Timeline") -> None:
        """Replace what came after step `at` by a training that resumed there and counts from there."""
        before, kept = replace(self), self._up_to(at)
        self.steps = Steps.joined([kept.steps, rest.steps])
        self.snapshots = kept.snapshots | rest.snapshots
        self.evaluations = kept.evaluations + rest.evaluations
        self.calls = kept.calls + rest.calls
        self.gradients = kept.gradients + rest.gradients
        self.events = kept.events + rest.events
        self.joints = [*kept.joints, Joint(at, rest.first_state, before), *rest.joints]
        self.notes = self.notes + rest.notes

    def _up_to(self, at: int) -> "Timeline":
        return replace(
            self,
            steps=self.steps.part(0, at + 1),
            snapshots={n: shot for n, shot in self.snapshots.items() if n <= at},
            evaluations=[record for record in self.evaluations if record.step <= at],
            calls=[record for record in self.calls if record.step <= at],
            gradients=[record for record in self.gradients if record.step <= at],
            events=[event for event in self.events if _step(event) <= at],
            joints=[joint for joint in self.joints if joint.step <= at],
        )


def lacking(segment: Segment, shift: int = 0) -> list[str]:
    """What a segment should have and does not, as sentences."""
    begins = min((shot.step for shot in segment.snapshots), default=0)
    gaps = _gaps(segment, begins)
    spans = [f"{low + shift}-{high + shift}" if low < high else str(low + shift) for low, high in gaps]
    more = f" and {len(spans) - SHOWN} more gaps" if len(spans) > SHOWN else ""
    said = [f"steps are missing in its trace: {', '.join(spans[:SHOWN])}{more}"] if spans else []
    counted = (segment.end or {}).get("steps")
    if isinstance(counted, int) and counted > segment.steps.last > 0:
        said.append(f"its end record counts {counted} steps, the last one recorded is {segment.steps.last}")
    return said


def _gaps(segment: Segment, begins: int) -> list[tuple[int, int]]:
    number = segment.steps.number
    before = np.concatenate([[min(begins, segment.steps.first - 1)], number[:-1]]) if len(number) else number
    jumps = np.flatnonzero(number - before > 1)
    return [(int(before[place]) + 1, int(number[place]) - 1) for place in jumps]


def _dated(records: Sequence[Dated], shift: int) -> list[Dated]:
    return [msgspec.structs.replace(r, step=r.step + shift) for r in records] if shift else list(records)


def _moved(events: Iterable[Json], shift: int) -> list[Json]:
    return [{**x, "step": x["step"] + shift} if isinstance(x.get("step"), int) else x for x in events]


def _step(event: Json) -> int:
    step = event.get("step")
    return step if isinstance(step, int) else 0
