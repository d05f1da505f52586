"""When the state is fingerprinted, what else is looked at, and how it thins when it costs too much."""

import itertools

import pytest

from repro.runtime.inside.record import schedule as module
from repro.runtime.inside.record.schedule import LOOK, SNAPSHOT, Schedule, Share


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes only when told to."""

    class Clock:
        now = 100.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


class Run:
    """A training with steps of some length, under a recorder with some costs, all in seconds."""

    def __init__(self, clock, *, step, start=0.0, least=0.0, look=0.0, snapshot=0.0, every=0):
        self.clock, self.share = clock, Share()
        self.schedule = Schedule(every, self.share)
        self.step, self.least, self.look, self.snapshot = step, least, look, snapshot
        self.events, self.shots, self.looks = [], [], []
        self._spend(start)
        self.schedule.started = start

    def _spend(self, seconds):
        self.clock.now += seconds
        self.share.total += seconds

    def go(self, steps):
        for step in steps:
            self.clock.now += self.step
            self._spend(self.least)
            if self.schedule.looks(step):
                self.looks.append(step)
                self._spend(self.look)
                self.share.spent(LOOK, self.look)
                self.schedule.looked += 1
            if self.schedule.due(step):
                self.shots.append(step)
                self._spend(self.snapshot)
                self.share.spent(SNAPSHOT, self.snapshot)
                self.schedule.shots += 1
            told = self.schedule.thin(step)
            if told:
                self.events.append((step, told))
        return self

    @property
    def part(self):
        return self.share.total / (self.clock.now - self.share.began)


def test_dense_at_first_then_powers_and_multiples(clock):
    schedule = Schedule(100, Share())
    assert [n for n in range(301) if schedule.due(n)] == [*range(11), 16, 32, 64, 100, 128, 200, 256, 300]
    assert all(schedule.looks(n) for n in range(301))


def test_cheap_recording_is_left_alone(clock):
    run = Run(clock, step=0.1, start=0.05, least=2e-5, look=2e-4, snapshot=2e-3).go(range(1, 3000))
    assert run.events == []
    assert run.looks == list(range(1, 3000))


@pytest.mark.parametrize(
    ("step", "limit"), [(0.002, 0.03), (0.01, 0.01), (0.1, 0.01)], ids=["2 ms", "10 ms", "100 ms"]
)
@pytest.mark.parametrize("steps", [500, 2000, 20_000])
def test_it_comes_down_to_its_budget(clock, step, limit, steps):
    """Costs of the kind that a step of this length has, start and dense steps included."""
    costs = {"start": 0.2 * step, "least": 2e-5, "look": step / 4, "snapshot": step / 2}
    run = Run(clock, step=step, **costs).go(range(1, 17))
    dense = run.part
    run.go(range(17, steps + 1))
    assert dense > 5 * limit
    # The first 16 steps cost what they cost: in a short run they are paid back as far as there is time.
    least = costs["start"] + 16 * costs["look"] + (12 + 9) * (costs["snapshot"] + costs["look"])
    assert run.part <= max(limit, 1.15 * (least + steps * costs["least"]) / (steps * step))
    assert run.events
    assert run.events[0][0] == 16


def test_a_thinned_trace_is_part_of_a_full_one(clock):
    thin = Run(clock, step=0.002, start=0.1, least=2e-5, look=4e-4, snapshot=2e-3).go(range(1, 5000))
    full = Run(clock, step=0.1).go(range(1, 5000))
    assert full.events == []
    assert set(thin.shots) <= set(full.shots)
    assert set(thin.looks) <= set(full.looks)
    assert set(thin.shots) <= set(thin.looks)
    strides = [told["stride"] for _, told in thin.events if "stride" in told]
    assert all(n & (n - 1) == 0 for n in strides)


def test_what_was_saved_in_the_beginning_is_given_back_later(clock):
    """A long run pays its start back, and then is looked at again as often as the budget allows."""
    run = Run(clock, step=0.01, start=0.2, least=2e-5, look=2e-4, snapshot=5e-3).go(range(1, 60_000))
    strides = [told["stride"] for _, told in run.events if "stride" in told]
    assert strides[0] == max(strides)
    assert strides[-1] < 16
    assert run.part < 0.01
    gaps = [b - a for a, b in itertools.pairwise(run.looks[-50:])]
    assert max(gaps) <= strides[-1]


def test_an_asked_for_interval_is_a_promise(clock):
    run = Run(clock, step=0.002, look=4e-4, snapshot=5e-3, every=10).go(range(1, 500))
    assert set(range(10, 500, 10)) <= set(run.shots)
    assert all("every" not in told for _, told in run.events)


def test_the_next_event_is_the_next_step_at_which_something_is_done(clock):
    schedule = Schedule(0, Share())
    schedule.stride, schedule.every, schedule.next_check = 8, 48, 71
    for step in range(17, 72):
        upcoming = next(n for n in itertools.count(step) if schedule.looks(n) or schedule.due(n) or n == 71)
        assert schedule.next_event(step) <= upcoming
        assert step <= schedule.next_event(step)


def test_evaluations_at_every_step_are_thinned_and_rare_ones_are_not(clock):
    schedule = Schedule(1 << 30, Share())
    schedule.stride = 64
    seen = [n for n in range(17, 1000) if schedule.evaluation(n)]
    assert len(seen) < 40
    epochs = Schedule(1 << 30, Share())
    epochs.stride = 64
    assert all(epochs.evaluation(n) for n in range(100, 2000, 70))


def test_a_second_training_begins_anew(clock):
    run = Run(clock, step=0.001, start=0.1, look=1e-3, snapshot=1e-3).go(range(1, 100))
    assert run.schedule.stride > 1
    run.schedule.begin()
    assert (run.schedule.stride, run.schedule.every, run.schedule.next_check) == (1, 64, 16)


def test_share_counts_parts_once():
    share = Share()
    share.total += 3.0
    share.spent(SNAPSHOT, 2.0)
    assert share.total == pytest.approx(3.0)
