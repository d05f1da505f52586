"""When the state is fingerprinted, and that it is done less often when it costs too much."""

import time

import pytest

from repro.runtime.inside.schedule import BUDGET, Schedule, Share


def test_dense_at_first_then_powers_and_multiples():
    schedule = Schedule(100)
    due = [n for n in range(301) if schedule.due(n)]
    assert due == [*range(11), 16, 32, 64, 100, 128, 200, 256, 300]


def walk(schedule, share, kind, cost, steps=400):
    """Steps of half a millisecond, of which the recorder claims `cost` seconds each under `kind`."""
    told = []
    for step in range(1, steps):
        time.sleep(0.0005)
        share.spent("after_step", cost)
        share.spent(kind, cost)
        thinned = schedule.thin(share, step)
        if thinned:
            told.append((step, thinned))
    return told


def test_costly_snapshots_become_rarer_and_stay_a_subset():
    schedule = Schedule(32)
    told = walk(schedule, Share(), "snapshot", 0.001)
    # The window opens at step 16; the first look is at the first multiple that leaves half a period behind.
    assert [(step, fields["every"]) for step, fields in told] == [(32, 64), (64, 128), (128, 256), (256, 512)]
    assert all(float.fromhex(fields["share"]) > BUDGET for _, fields in told)
    assert all(Schedule(32).due(n) for n in range(2000) if schedule.due(n))
    assert all(schedule.due(n) for n in range(11))


def test_costly_batches_are_sampled():
    told = walk(Schedule(32), Share(), "batch", 0.001, steps=40)
    assert [fields["batch"] for _, fields in told] == ["sampled"]


def test_cheap_recording_is_left_alone():
    assert walk(Schedule(32), Share(), "snapshot", 0.0) == []


def test_share_counts_parts_once():
    share = Share()
    share.spent("after_step", 3.0)
    share.spent("snapshot", 2.0)
    assert share.total == pytest.approx(3.0)
