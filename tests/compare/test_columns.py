"""The answer over whole columns is the one that a slow walk, row by row over the records, gives."""

import math
import struct
from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from repro.compare.lines.pair import Pair
from repro.compare.signals.align import Timeline
from repro.compare.signals.generators import unused_generators
from repro.compare.signals.micro import micro_batches
from repro.compare.signals.walk import measure
from repro.model.trace import StateSnapshot, Step, Steps

ODD = [0.0, -0.0, 1.0, 1.0 + 2**-52, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.7e308, -1.7e308]
floats = st.one_of(st.sampled_from(ODD), st.floats(width=64)).map(float.hex)
digests = st.sampled_from([f"{n:016x}" for n in (0, 1, 2**63, 2**64 - 1)])


def maybe(values):
    return st.one_of(st.none(), values)


fields = st.fixed_dictionaries(
    {
        "loss": maybe(floats),
        "gn": maybe(floats),
        "idx": maybe(digests),
        "batch": maybe(digests),
        "fwd": maybe(digests),
        "lr": maybe(st.lists(floats, min_size=1, max_size=2)),
        "rng": st.dictionaries(st.sampled_from(["torch", "python", "cuda"]), digests),
        "nb": st.integers(0, 2),
        "opt": st.integers(0, 1),
        "skipped": st.booleans(),
    }
)
tables = st.lists(st.tuples(st.integers(1, 3), fields), max_size=8)


def rows_of(table):
    """Records by number; the numbers are the running sums of the gaps."""
    numbers = accumulate(gap for gap, _ in table)
    return {n: Step(step=n, **values) for n, (_, values) in zip(numbers, table, strict=True)}


class Oracle:
    """Counts one signal as the format says it, value by value."""

    def __init__(self):
        self.compared, self.differing, self.sizes, self.missing = 0, [], [], {}

    def see(self, step, x, y, sizes=True):
        if x is None or y is None:
            if (x is None) != (y is None):
                side = "a" if x is None else "b"
                self.missing[side] = self.missing.get(side, 0) + 1
            return
        self.compared += 1
        if bits(x) != bits(y):
            self.differing.append(step)
            self.sizes += size(x, y) if sizes else []

    def said(self):
        first = min(self.differing, default=None)
        largest = max((absolute for absolute, _ in self.sizes), default=None)
        return self.compared, first, largest, max((r for _, r in self.sizes), default=None), self.missing


def bits(text):
    value = float.fromhex(text)
    return b"nan" if math.isnan(value) else struct.pack("<d", value)


def size(x, y):
    p, q = float.fromhex(x), float.fromhex(y)
    if not math.isfinite(p - q):
        return []
    larger = max(abs(p), abs(q))
    return [(abs(p - q), abs(p - q) / larger if larger else 0.0)]


def told(tally):
    return tally.compared, tally.first, tally.largest, tally.relative, tally.missing


def pair_of(x, y):
    """Every step has a snapshot, so that nothing is absent because it was too large for the others."""
    lines = [
        Timeline(steps=Steps.of(list(rows.values())), snapshots={n: StateSnapshot(step=n) for n in rows})
        for rows in (x, y)
    ]
    return Pair.of(*lines)


relaxed = settings(deadline=None, max_examples=100)


@relaxed
@given(tables, tables)
def test_numbers(a, b):
    x, y = rows_of(a), rows_of(b)
    found = measure(pair_of(x, y))
    for signal, name in (("loss", "loss"), ("gradient", "gn")):
        oracle = Oracle()
        for step in sorted(x.keys() & y.keys()):
            oracle.see(step, getattr(x[step], name), getattr(y[step], name))
        assert told(found[signal]) == oracle.said()


@relaxed
@given(tables, tables)
def test_fingerprints(a, b):
    x, y = rows_of(a), rows_of(b)
    found = measure(pair_of(x, y))
    for signal, names in (("samples", ("idx", "batch")), ("forward", ("fwd",))):
        oracle = Oracle()
        for step in sorted(x.keys() & y.keys()):
            for name in names:
                oracle.see(step, getattr(x[step], name), getattr(y[step], name), sizes=False)
        assert told(found[signal]) == oracle.said()


@relaxed
@given(tables, tables)
def test_generators(a, b):
    x, y = rows_of(a), rows_of(b)
    common = sorted(x.keys() & y.keys())
    pair = pair_of(x, y)
    oracle = Oracle()
    for name in ("torch", "python", "cuda"):
        states = [[rows[n].rng[name] for n in common if name in rows[n].rng] for rows in (x, y)]
        unused = (
            name == "python" and all(len(set(seen)) == 1 for seen in states) and states[0][0] != states[1][0]
        )
        assert (name in unused_generators(pair)) == unused
        if all(states) and not unused:
            for step in common:
                oracle.see(step, x[step].rng.get(name), y[step].rng.get(name), sizes=False)
    assert told(measure(pair)["rng"]) == oracle.said()


@relaxed
@given(tables, tables)
def test_update(a, b):
    """Rates hold until the same optimizer names others; which optimizer stepped, and skips, count too."""
    x, y = rows_of(a), rows_of(b)
    held = [in_force(rows) for rows in (x, y)]
    compared, differing, sizes = 0, [], []
    for step in sorted(x.keys() & y.keys()):
        p, q = (rates[step] for rates in held)
        same = (x[step].opt, x[step].skipped) == (y[step].opt, y[step].skipped)
        if p is not None and q is not None:
            compared += 1
            same = same and list(map(bits, p)) == list(map(bits, q))
            sizes += [s for t, u in zip(p, q, strict=False) if bits(t) != bits(u) for s in size(t, u)]
        differing += [] if same else [step]
    tally = measure(pair_of(x, y))["update"]
    assert (tally.compared, tally.first) == (compared, min(differing, default=None))
    assert tally.largest == max((absolute for absolute, _ in sizes), default=None)
    assert tally.relative == max((relative for _, relative in sizes), default=None)


def in_force(rows):
    known, found = {}, {}
    for step, row in rows.items():
        known |= {row.opt: row.lr} if row.lr is not None else {}
        found[step] = known.get(row.opt)
    return found


@relaxed
@given(tables, tables)
def test_swapped_sides_give_the_swapped_answer(a, b):
    x, y = rows_of(a), rows_of(b)
    there, back = measure(pair_of(x, y)), measure(pair_of(y, x))
    swap = {"a": "b", "b": "a"}
    for name, tally in there.items():
        *counted, missing = told(tally)
        assert [*counted, {swap[side]: n for side, n in missing.items()}] == list(told(back[name]))


@relaxed
@given(tables, tables)
def test_equal_columns_are_equal_values(a, b):
    """No difference in any column exactly when no value that both records have differs."""
    x, y = rows_of(a), rows_of(b)
    common = x.keys() & y.keys()
    names = ("loss", "gn", "idx", "batch", "fwd")
    values = ((getattr(x[n], name), getattr(y[n], name)) for n in common for name in names)
    equal = all(p is None or q is None or same(p, q) for p, q in values)
    found = measure(pair_of(x, y))
    assert equal == (not any(found[name].differs for name in ("samples", "forward", "loss", "gradient")))


def same(p, q):
    return p == q if len(p) == 16 and "x" not in p and "n" not in p else bits(p) == bits(q)


@relaxed
@given(tables, tables)
def test_pair_gives_back_rows_and_columns_of_the_common_steps(a, b):
    x, y = rows_of(a), rows_of(b)
    pair = pair_of(x, y)
    common = sorted(x.keys() & y.keys())
    assert list(pair.steps) == common
    assert pair.same_length == (list(x) == list(y))
    for place, step in enumerate(common):
        assert pair.at(step) == (x[step], y[step])
        assert [int(column.values[place]) for column in pair.column("nb")] == [x[step].nb, y[step].nb]


@relaxed
@given(tables, tables, st.integers(0, 12))
def test_what_comes_after_a_step_differs_where_the_whole_does(a, b, step):
    """Rates that were named before hold after it."""
    x, y = rows_of(a), rows_of(b)
    pair = pair_of(x, y)
    part = pair.after(step)
    assert list(part.steps) == [n for n in pair.steps if n > step]
    whole = measure(pair)
    for name, tally in measure(part).items():
        assert tally.first is None or tally.first > step
        if name != "rng" and whole[name].first is not None and whole[name].first > step:
            assert tally.first == whole[name].first


@relaxed
@given(tables, tables)
def test_micro_batches_are_those_of_the_first_step_that_differs(a, b):
    x, y = rows_of(a), rows_of(b)
    differ = [n for n in sorted(x.keys() & y.keys()) if x[n].nb != y[n].nb]
    found = micro_batches(pair_of(x, y))
    if not differ:
        assert found is None
    else:
        assert (found.step, found.a, found.b) == (differ[0], x[differ[0]].nb, y[differ[0]].nb)
