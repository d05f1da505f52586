"""A growing trace beside a reference: what is said, when, and once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from repro.compare.rounding.watch import Alarm, Watch
from repro.model.trace import Segment, StateSnapshot, Step

LENGTH = 200


def loss(step: int) -> float:
    return 2.0 / (1 + step / 20) + 0.05 * ((step * 7919) % 13 - 6) / 6


def away(step: int, distance: float) -> StateSnapshot:
    """A state of norm 2 whose sketch lies that far from the reference's, relatively."""
    return StateSnapshot(
        step=step,
        weights=["0" * 16],
        norm2=(4.0).hex(),
        sketch=[(1.0 + 2 * distance).hex(), (0.0).hex()],
    )


@pytest.fixture
def watch(make_side: Callable[..., Any], build: Any) -> Watch:
    steps = build.steps([Step(step=n, loss=loss(n).hex()) for n in range(1, LENGTH + 1)])
    places = [*range(11), 16, 32, 64]
    own = Segment(start={}, steps=steps, snapshots=[away(n, 0.0) for n in places])
    noise = [
        Segment(start={}, snapshots=[away(n, size * (1 + n)) for n in places]) for size in (1e-7, 2e-7, -1e-7)
    ]
    reference, *members = (make_side([build.trace(segment)]) for segment in (own, *noise))
    return Watch(reference, members)


def told(watch: Watch, records: Iterator[Step | StateSnapshot] | list[Any]) -> list[Alarm]:
    return [alarm for record in records for alarm in watch.take(record)]


def test_rounding_and_the_same_losses_say_nothing(watch: Watch) -> None:
    shots = [away(n, 4 * 2e-7 * (1 + n)) for n in (1, 2, 4, 8, 16)]
    assert told(watch, shots) == []
    assert told(watch, [Step(step=n, loss=loss(n).hex()) for n in range(1, LENGTH)]) == []


def test_one_step_a_little_outside_is_not_enough_and_two_are(watch: Watch) -> None:
    assert told(watch, [away(1, 6 * 4e-7)]) == []
    (alarm,) = told(watch, [away(2, 6 * 6e-7)])
    assert (alarm.kind, alarm.step) == ("beyond-rounding", 2)
    assert told(watch, [away(3, 6 * 8e-7)]) == []


def test_far_outside_is_enough_at_once(watch: Watch) -> None:
    assert [a.kind for a in told(watch, [away(1, 51 * 4e-7)])] == ["beyond-rounding"]


def test_late_steps_are_told_and_not_judged(watch: Watch) -> None:
    assert [a.kind for a in told(watch, [away(32, 1.0)])] == ["note"]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_loss_that_is_no_number_is_divergence(watch: Watch, value: str) -> None:
    (alarm,) = told(watch, [Step(step=9, loss=value), Step(step=10, loss=value)])
    assert (alarm.kind, alarm.step) == ("diverged", 9)


def test_a_step_left_out_by_a_scaler_is_none(watch: Watch) -> None:
    assert told(watch, [Step(step=9, loss="inf", skipped=True)]) == []


def test_weights_that_are_no_numbers_are_divergence(watch: Watch) -> None:
    shot = StateSnapshot(step=4, weights=["0" * 16], nonfinite=3)
    assert [a.kind for a in told(watch, [shot])] == ["diverged"]


def test_a_loss_that_stays_away_is_divergence_after_two_windows(watch: Watch) -> None:
    alarms = told(watch, [Step(step=n, loss=(loss(n) + 1.5).hex()) for n in range(1, LENGTH)])
    assert [(a.kind, a.step) for a in alarms] == [("diverged", 32)]


def test_one_bad_window_is_not(watch: Watch) -> None:
    away_once = (Step(step=n, loss=(loss(n) + (1.5 if n <= 16 else 0)).hex()) for n in range(1, LENGTH))
    assert told(watch, away_once) == []
