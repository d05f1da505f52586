import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.model.trace import Step, Steps

floats = st.one_of(
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 2.0**-1022]), st.floats(width=64)
).map(float.hex)
digests = st.integers(0, 2**64 - 1).map(lambda n: f"{n:016x}")


def maybe(values):
    return st.one_of(st.none(), values)


fields = st.fixed_dictionaries(
    {
        "loss": maybe(floats),
        "gn": maybe(floats),
        "dt": maybe(floats),
        "idx": maybe(digests),
        "batch": maybe(digests),
        "fwd": maybe(digests),
        "lr": maybe(st.lists(floats, max_size=3)),
        "rng": st.dictionaries(st.sampled_from(["torch", "python", "numpy", "cuda"]), digests),
        "nb": st.integers(0, 2**40),
        "opt": st.integers(0, 3),
        "skipped": st.booleans(),
    }
)
tables = st.lists(st.tuples(st.integers(1, 5), fields), max_size=12)


def records(table):
    """Steps whose numbers are the running sums of the gaps."""
    numbers = np.cumsum([gap for gap, _ in table], dtype=int).tolist()
    return [Step(step=n, **values) for n, (_, values) in zip(numbers, table, strict=True)]


@settings(deadline=None)
@given(tables)
def test_rows_come_back_as_they_were_written(table):
    rows = records(table)
    steps = Steps.of(rows)
    assert list(steps.rows()) == rows
    assert [steps.row(row.step) for row in rows] == rows
    assert len(steps) == len(rows)
    assert steps.last == (rows[-1].step if rows else 0)
    assert all((n in steps) == any(row.step == n for row in rows) for n in range(steps.last + 2))


@settings(deadline=None)
@given(tables, st.integers(0, 60), st.integers(0, 60), st.integers(-3, 3))
def test_parts_and_joins_are_those_of_the_list(table, start, stop, by):
    rows = records(table)
    steps = Steps.of(rows)
    assert list(steps.part(start, stop).rows()) == [row for row in rows if start <= row.step < stop]
    split = [steps.part(0, start), steps.part(start, 10**6)]
    assert list(Steps.joined(split).rows()) == rows
    assert [row.step for row in steps.shifted(by).rows()] == [row.step + by for row in rows]


@settings(deadline=None)
@given(tables)
def test_rates_hold_until_the_next_that_the_same_optimizer_names(table):
    rows = records(table)
    steps = Steps.of(rows)
    known: dict[int, list[str]] = {}
    for row, place in zip(rows, steps.lr.in_force(steps.column("opt").values), strict=True):
        known |= {row.opt: row.lr} if row.lr is not None else {}
        found = None if place < 0 else steps.lr.at(int(steps.lr.places[place]))
        assert found == known.get(row.opt)


def test_signal_that_was_not_recorded_is_a_column_without_values():
    steps = Steps.of([Step(step=1), Step(step=2)])
    for name in ("loss", "fwd", "rng.cuda", "no such signal"):
        assert len(steps.column(name)) == 2
        assert not steps.column(name).known.any()
    assert steps.generators() == []


def test_kinds_of_values():
    steps = Steps.of([Step(step=1, loss="0x1p+0", idx="ff", nb=2, skipped=True, rng={"torch": "0a"})])
    kinds = {name: str(steps.column(name).values.dtype) for name in ("loss", "idx", "rng.torch", "nb", "opt")}
    assert kinds == {"loss": "float64", "idx": "uint64", "rng.torch": "uint64", "nb": "int64", "opt": "int64"}
    assert steps.column("skipped").values.dtype == bool
    assert steps.column("idx").values[0] == 255


@pytest.mark.parametrize("text", ["", "0x1", "+1", "1_0", " 1", "g", "1" * 17, "é"])
def test_text_that_is_no_digest_is_hashed_and_stays_apart(text):
    column = Steps.of([Step(step=1, idx=text), Step(step=2, idx=text + "!"), Step(step=3, idx=text)]).column(
        "idx"
    )
    assert column.known.all()
    assert column.values[0] == column.values[2] != column.values[1]
    assert column.values[0] > 255


def test_digests_that_look_like_one_run_of_digits_are_read_one_by_one():
    """bytes.fromhex passes over spaces, and so must not be asked about texts that hold some."""
    column = Steps.of([Step(step=1, idx="  1234  "), Step(step=2, idx="12345678")]).column("idx")
    assert column.values[1] == 0x12345678
    assert column.values[0] != column.values[1]


def test_fingerprint_that_could_not_be_read_is_no_value():
    assert not Steps.of([Step(step=1, batch="unknown")]).column("batch").known[0]


def test_all_nan_are_one_and_signs_of_zero_are_two():
    column = Steps.of([Step(step=n, loss=x) for n, x in enumerate(["nan", "-nan", "0x0p+0", "-0x0p+0"], 1)])
    bits = column.column("loss").bits
    assert bits[0] == bits[1]
    assert bits[2] != bits[3]


@pytest.mark.parametrize(
    "wrong", [{"loss": "one"}, {"gn": "0x1p+99999"}, {"lr": ["x"]}, {"nb": 2**64}, {"step": 2**70}]
)
def test_values_that_are_none_are_refused(wrong):
    with pytest.raises((ValueError, OverflowError)):
        Steps.of([Step(**{"step": 1, **wrong})])


def test_slices_share_memory_and_missing_columns_take_none():
    steps = Steps.of([Step(step=n, loss=float(n).hex()) for n in range(1, 1001)])
    part = steps.part(10, 500)
    assert np.shares_memory(part.column("loss").values, steps.column("loss").values)
    assert steps.column("fwd").values.strides == (0,)
    with pytest.raises(KeyError):
        steps.row(1001)
