import json
import os
import shutil

import msgspec
import pytest

from repro.model.trace import FORMAT
from repro.trace import cache, read_trace
from repro.trace.lines import read_file

START = {
    "k": "start",
    "format": FORMAT,
    "rank": 0,
    "params": [{"name": "w", "shape": [2], "dtype": "float32"}],
}


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The cache folder of one test; files of any size are worth keeping there."""
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH", 0)
    return tmp_path / "cache" / "traces"


@pytest.fixture
def file(tmp_path):
    """A trace with every kind of record, gaps in every signal, and two segments."""
    path = tmp_path / "trace-0.jsonl"
    end = {"k": "end", "steps": 7, "share": "0x0p+0", "status": "ok"}
    path.write_text("".join(json.dumps(line) + "\n" for line in (*records(40), *records(7), end)), "utf-8")
    return path


def records(steps):
    yield START
    yield {"k": "p", "step": 0, "weights": ["00"], "sketch": ["0x1p+0"], "grads": ["none"]}
    for n in range(1, steps + 1):
        loss = {1: "nan", 2: "inf", 3: "-0x0.0p+0", 4: "0x0.0000000000001p-1022"}.get(n, float(n).hex())
        step = {"k": "s", "step": n, "loss": loss, "nb": n % 3, "opt": n % 2, "skipped": n == 5}
        step |= {"gn": float(n).hex()} if n % 4 else {}
        step |= {"fwd": f"{2**64 - n:016x}"} if n % 5 else {}
        step |= {"lr": [float(n).hex(), "nan"][: n % 3]} if n % 7 == 0 else {}
        yield step | {"rng": {"torch": f"{n:08x}", **({"numpy": "0a"} if n > 9 else {})}}
    yield {"k": "e", "step": 3, "calls": 1, "rows": 2, "mode": "eval", "inputs": "0a", "prediction": [1, 0]}
    yield {"k": "m", "step": 3, "n": 0, "module": "fc", "class": "Linear", "outputs": [{"f": "0b"}]}
    yield {"k": "g", "step": 3, "grads": [None, {"f": "0c", "shape": [2]}]}
    yield {"k": "x", "what": "thinned", "step": 9, "stride": 4, "share": 0.5}
    yield {"k": "c", "op": "save", "step": 9}


def told(trace):
    """All that a trace says, in a form that can be held against another."""
    whole = msgspec.to_builtins(msgspec.structs.replace(trace, segments=[]))
    parts = []
    for segment in trace.segments:
        fields = {name: getattr(segment, name) for name in segment.__struct_fields__ if name != "steps"}
        parts.append((without_kind(msgspec.to_builtins(fields)), list(segment.steps.rows())))
    return whole, parts


def without_kind(value):
    """A record read from its line is of a kind that has a tag, one from the table is not."""
    if isinstance(value, dict):
        return {key: without_kind(inner) for key, inner in value.items() if key != "k"}
    return [without_kind(inner) for inner in value] if isinstance(value, list) else value


def entries(kept):
    return sorted(kept.glob("1-*")) if kept.exists() else []


def test_what_is_kept_says_the_same_as_the_lines(file, kept):
    plain = read_file(file, 0)
    for _ in range(3):
        assert told(cache.read(file, 0)) == told(plain)
        assert len(entries(kept)) == 1
    assert {path.name for path in entries(kept)[0].iterdir()} == {"steps.parquet", "rest.json", "index.json"}
    assert not list(kept.glob(".part-*"))


def test_second_reading_needs_no_line(file, kept, monkeypatch):
    first = cache.read(file, 0)
    monkeypatch.setattr(cache, "read_file", None)
    assert told(cache.read(file, 0)) == told(first)


def test_a_file_that_changed_by_one_byte_is_read_anew(file, kept):
    """Same size, same times, same head and tail."""
    before = file.stat()
    first = cache.read(file, 0)
    file.write_bytes(file.read_bytes().replace(float(20).hex().encode(), float(21).hex().encode(), 1))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    second = cache.read(file, 0)
    assert told(second) == told(read_file(file, 0))
    assert told(second) != told(first)
    assert len(entries(kept)) == 2


def test_a_moved_file_is_the_same_and_has_its_own_name(file, kept, tmp_path):
    cache.read(file, 0)
    moved = file.rename(tmp_path / "trace-3.jsonl")
    trace = cache.read(moved, 3)
    assert (trace.file, trace.rank) == ("trace-3.jsonl", 3)
    assert len(entries(kept)) == 1


def test_every_kind_of_damage_to_an_entry_is_mended_in_silence(file, kept):
    plain = told(cache.read(file, 0))
    (entry,) = entries(kept)
    for name in ("steps.parquet", "rest.json", "index.json"):
        whole = (entry / name).read_bytes()
        places = range(0, len(whole), max(1, len(whole) // 40))
        for data in (b"", whole[: len(whole) // 2], *(flipped(whole, place) for place in places)):
            (entry / name).write_bytes(data)
            assert told(cache.read(file, 0)) == plain
            (entry / name).write_bytes(whole)
        (entry / name).unlink()
        assert told(cache.read(file, 0)) == plain
        assert (entry / name).is_file()


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]


def test_a_torn_trace_stays_torn(file, kept):
    file.write_bytes(file.read_bytes()[:-5])
    assert cache.read(file, 0).torn
    assert cache.read(file, 0).torn
    assert len(entries(kept)) == 1


def test_a_run_that_goes_on_is_kept_under_what_was_read(file, kept, monkeypatch):
    """Lines that come between the look and the reading belong to another entry."""
    more = json.dumps({"k": "x", "what": "oom", "step": 7}) + "\n"

    def look(path):
        digest = sha256_file(path)
        with path.open("a") as growing:
            growing.write(more)
        return digest

    sha256_file = cache.sha256_file
    monkeypatch.setattr(cache, "sha256_file", look)
    assert told(cache.read(file, 0)) == told(read_file(file, 0))
    assert [entry.name for entry in entries(kept)] == [f"1-{sha256_file(file)}"]


def test_a_cache_that_cannot_be_written_changes_nothing(file, kept):
    kept.parent.mkdir()
    kept.write_text("a file where the folder should be")
    assert told(cache.read(file, 0)) == told(read_file(file, 0))


def test_runs_folder_is_never_written_to(write_run, kept):
    run = write_run(steps=30)
    names = sorted(str(path) for path in run.rglob("*"))
    read_trace(run / "attempt-1")
    assert sorted(str(path) for path in run.rglob("*")) == names
    assert len(entries(kept)) == 1


def test_damaged_traces_are_not_kept(file, kept):
    file.write_bytes(b"{\n" + file.read_bytes())
    with pytest.raises(Exception, match="cannot be read"):
        cache.read(file, 0)
    assert entries(kept) == []


def test_small_traces_are_read_line_by_line(file, kept, monkeypatch):
    monkeypatch.setattr(cache, "WORTH", file.stat().st_size + 1)
    cache.read(file, 0)
    assert entries(kept) == []


def test_without_pyarrow_a_large_trace_says_how_to_get_it(file, kept, monkeypatch):
    monkeypatch.setattr(cache, "find_spec", lambda name: None)
    assert cache.read(file, 0).notes == []
    monkeypatch.setattr(cache, "MANY", 10)
    trace = cache.read(file, 0)
    assert any("pip install 'reprobundle[parquet]'" in note for note in trace.notes)
    assert told(msgspec.structs.replace(trace, notes=[])) == told(read_file(file, 0))
    assert entries(kept) == []


def test_cache_may_be_deleted_at_any_time(file, kept):
    first = told(cache.read(file, 0))
    shutil.rmtree(kept)
    assert told(cache.read(file, 0)) == first
