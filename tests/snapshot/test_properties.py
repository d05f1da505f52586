"""Whatever the names, order, umask and times: the same tree gives the same archive; values survive JSON."""

import json
import math
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.model.canonical import encode as canonical
from repro.snapshot import tagged
from repro.snapshot.overrides import apply
from repro.snapshot.paramfile import parse, render

NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=12
).filter(
    lambda n: n.strip(". ") and n.lower() != ".git" and "git~" not in n.lower() and len(n.encode()) < 200
)
FILES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    st.tuples(st.binary(max_size=40), st.booleans()),
    min_size=1,
    max_size=6,
)


def without_clashes(files: dict[str, Any]) -> dict[str, Any]:
    """Drop files whose name is the folder of another."""
    return {p: v for p, v in files.items() if not any(q.startswith(p + "/") for q in files)}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=FILES.map(without_clashes))
def test_archive_does_not_depend_on_order_umask_or_time(new_repo, tmp_path_factory, files) -> None:
    from repro.snapshot import leftovers, secrets

    files = {p: v for p, v in files.items() if not leftovers.is_cache(p) and not secrets.is_secret_file(p)}
    folder = tmp_path_factory.mktemp("tree")
    taken = []
    for number, (umask, stamp) in enumerate(((0o022, 10**9), (0o077, 2 * 10**9))):
        old = os.umask(umask)
        try:
            repo = new_repo(f"{folder.name}-{number}")
            for path, (content, executable) in sorted(files.items(), reverse=bool(number)):
                written = repo.write(path, content, 0o755 if executable else 0o644)
                os.utime(written, (stamp, stamp))
            repo.commit()
            taken.append(repo.take())
        finally:
            os.umask(old)
    assert taken[0].tar_bytes() == taken[1].tar_bytes()
    assert taken[0].record == taken[1].record
    assert taken[0].record.tree == repo.git("rev-parse", "HEAD^{tree}")
    found = taken[0].members()
    for path, (content, executable) in files.items():
        assert found[path].mode == (0o755 if executable else 0o644)
        assert taken[0].read(path) == content


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 90), 1 << 90)
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.datetimes()
    | st.binary(max_size=10)
)
KEYS = st.text(max_size=8) | st.integers(-5, 5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)
)


def same(a: Any, b: Any) -> bool:
    """Equality in which NaN equals NaN, and 1, 1.0 and True are three things."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return [(type(k), k) for k in a] == [(type(k), k) for k in b] and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return bool(a == b)


@given(value=st.dictionaries(st.text(max_size=8), VALUES, max_size=5))
def test_values_survive_canonical_json(value: dict[str, Any]) -> None:
    text = canonical(tagged.encode(value))
    json.loads(text, parse_constant=lambda word: (_ for _ in ()).throw(AssertionError(word)))
    back = tagged.decode(msgspec.json.decode(text))
    assert (
        same(dict(sorted(back.items())), dict(sorted(value.items())))
        or canonical(tagged.encode(back)) == text
    )


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False)
    | st.text(
        st.characters(
            blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff\u0085\u2028\u2029\ufffe\uffff"
        ),
        max_size=12,
    )
)
NESTED = st.recursive(
    PLAIN, lambda i: st.lists(i, max_size=3) | st.dictionaries(NAMES, i, max_size=3), max_leaves=8
)


def no_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: no_none(v) for k, v in value.items() if v is not None}
    return [no_none(v) for v in value if v is not None] if isinstance(value, list) else value


@given(values=st.dictionaries(NAMES, NESTED, max_size=4), suffix=st.sampled_from([".json", ".yaml", ".toml"]))
def test_rendered_parameters_read_back(values: dict[str, Any], suffix: str) -> None:
    values = no_none(values)
    back = parse("p" + suffix, suffix, render(suffix, values)).values
    assert canonical(tagged.encode(back)) == canonical(tagged.encode(values))


def test_each_kind_has_its_tag() -> None:
    stamp = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    value = {
        "a": math.inf,
        "b": 1 << 64,
        "c": date(2024, 1, 2),
        "d": stamp,
        "e": b"x",
        "f": {1: 2},
        "g": {"$float": 1},
    }
    encoded = tagged.encode(value)
    assert [next(iter(v)) for v in encoded.values()] == [
        "$float",
        "$int",
        "$date",
        "$datetime",
        "$bytes",
        "$map",
        "$map",
    ]
    assert tagged.decode(encoded) == value


def test_overrides_leave_the_original_alone() -> None:
    values = {"model": {"depth": 2}, "lr": 0.1}
    assert apply(values, {"model.depth": "4", "lr": "1"}) == {"model": {"depth": 4}, "lr": 1.0}
    assert values == {"model": {"depth": 2}, "lr": 0.1}
    assert Path  # the module under test reads no files
