import json
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.trace import read_trace


def trace_file(run: Path) -> Path:
    return run / "attempt-1" / "trace-0.jsonl"


def test_reads_steps_snapshots_and_end_in_order(write_run):
    (trace,) = read_trace(write_run(steps=3) / "attempt-1")
    (segment,) = trace.segments
    assert list(segment.steps.number) == [1, 2, 3]
    assert [shot.step for shot in segment.snapshots] == [0, 1, 2, 3]
    assert segment.steps.row(2).loss == (0.5).hex()
    assert segment.start["torch"] == "2.13.0"
    assert segment.end is not None
    assert segment.end["status"] == "ok"
    assert not trace.torn
    assert trace.file == "trace-0.jsonl"


def test_run_without_torch_has_no_trace(write_run):
    run = write_run()
    trace_file(run).unlink()
    assert read_trace(run / "attempt-1") == []


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_cut_last_line_is_passed_over_and_said(write_run, cut):
    run = write_run(steps=5)
    data = trace_file(run).read_bytes()
    trace_file(run).write_bytes(data[: len(data) - 1 - cut])
    (trace,) = read_trace(run / "attempt-1")
    assert trace.torn
    assert len(trace.segments[0].steps) == 5
    assert trace.segments[0].end is None


def test_every_cut_gives_a_torn_or_a_shorter_trace(write_run):
    run = write_run(steps=2)
    data = trace_file(run).read_bytes()
    ends = {place + 1 for place, byte in enumerate(data) if byte == 10} | {0}
    ends |= {end - 1 for end in ends if end}  # only the newline is missing: the record is whole
    for length in range(len(data)):
        trace_file(run).write_bytes(data[:length])
        (trace,) = read_trace(run / "attempt-1")
        assert trace.torn == (length not in ends), length


def test_zero_bytes_that_a_power_cut_left_at_the_end_are_a_torn_line(write_run):
    run = write_run()
    trace_file(run).write_bytes(trace_file(run).read_bytes() + b"\0" * 300)
    assert read_trace(run / "attempt-1")[0].torn


def test_missing_last_newline_is_no_damage(write_run):
    run = write_run()
    trace_file(run).write_bytes(trace_file(run).read_bytes().rstrip(b"\n"))
    assert not read_trace(run / "attempt-1")[0].torn


@pytest.mark.parametrize("bad", ["{", '{"k":"s","step":"two"}', "nonsense", "[1]", '{"k":"s"}'])
def test_damaged_line_before_the_last_names_file_and_line(write_run, bad):
    run = write_run()
    lines = trace_file(run).read_text().splitlines()
    lines[3] = bad
    trace_file(run).write_text("\n".join(lines) + "\n")
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-damaged"
    assert caught.value.exit_status == 5
    assert f"{trace_file(run)}:4" in caught.value.found[0]


def test_step_without_a_start_record_is_damage(write_run):
    run = write_run()
    lines = trace_file(run).read_text().splitlines()
    trace_file(run).write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-damaged"
    assert ":1" in caught.value.found[0]


def test_newer_format_is_refused(write_run):
    run = write_run()
    text = trace_file(run).read_text().replace('"format": 2', '"format": 3')
    trace_file(run).write_text(text)
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-too-new"
    assert caught.value.exit_status == 5


def test_unknown_kinds_and_unknown_fields_are_passed_over(write_run):
    run = write_run()
    lines = [json.loads(line) for line in trace_file(run).read_text().splitlines()]
    lines[2]["module_hash"] = "00"
    lines.insert(2, {"k": "later", "name": "conv1"})
    lines.insert(2, {"no": "kind"})
    trace_file(run).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(read_trace(run / "attempt-1")[0].segments[0].steps) == 3


def test_key_order_does_not_matter(write_run):
    run = write_run()
    lines = [json.loads(line) for line in trace_file(run).read_text().splitlines()]
    trace_file(run).write_text("".join(json.dumps(dict(reversed(line.items()))) + "\n" for line in lines))
    assert len(read_trace(run / "attempt-1")[0].segments[0].steps) == 3


def test_second_start_opens_a_segment_and_early_events_stay(write_run):
    run = write_run(steps=2)
    text = trace_file(run).read_text()
    trace_file(run).write_text('{"k":"c","op":"load","step":0}\n' + text + text)
    (trace,) = read_trace(run / "attempt-1")
    assert [len(segment.steps) for segment in trace.segments] == [2, 2]
    assert trace.segments[0].checkpoints[0]["op"] == "load"
    assert trace.segments[1].checkpoints == []
    assert all(segment.end for segment in trace.segments)


def test_ranks_and_parts_come_in_order(write_run):
    run = write_run()
    for name in ("trace-10.jsonl", "trace-2.jsonl", "trace-0.2.jsonl"):
        (run / "attempt-1" / name).write_bytes(trace_file(run).read_bytes())
    (run / "attempt-1" / "trace-old.jsonl").write_text("not ours")
    found = read_trace(run / "attempt-1")
    assert [(trace.rank, trace.file) for trace in found] == [
        (0, "trace-0.jsonl"),
        (0, "trace-0.2.jsonl"),
        (2, "trace-2.jsonl"),
        (10, "trace-10.jsonl"),
    ]


def rewrite(run, change):
    """Put other lines in place: `change` is given the list of records."""
    lines = [json.loads(line) for line in trace_file(run).read_text().splitlines()]
    trace_file(run).write_text("".join(json.dumps(line) + "\n" for line in change(lines)))


def steps_of(lines):
    return [place for place, line in enumerate(lines) if line["k"] == "s"]


def test_older_format_is_refused_and_says_what_to_do(write_run):
    run = write_run()
    trace_file(run).write_text(trace_file(run).read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert (caught.value.code, caught.value.exit_status) == ("trace-too-old", 5)
    assert "format 1" in caught.value.found[0]
    assert caught.value.tries


@pytest.mark.parametrize("form", [None, "2", True, 2.0])
def test_format_that_is_no_number_is_damage(write_run, form):
    run = write_run()
    rewrite(run, lambda lines: [{**lines[0], "format": form}, *lines[1:]])
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-damaged"


@pytest.mark.parametrize(
    ("place", "number", "said"),
    [
        (2, 2, "step 2 is there twice"),
        (2, 1, "step 1 stands after step 2"),
        (0, 0, "step 0 "),
        (0, -1, "step -1 "),
    ],
)
def test_repeated_or_lower_step_numbers_are_damage_told_with_their_line(write_run, place, number, said):
    run = write_run(steps=4)

    def change(lines):
        at = steps_of(lines)[place]
        return [*lines[:at], {**lines[at], "step": number}, *lines[at + 1 :]]

    rewrite(run, change)
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-damaged"
    assert f":{steps_of(change(lines_of(run)))[place] + 1}: " in caught.value.found[0]
    assert said in caught.value.found[0]


def lines_of(run):
    return [json.loads(line) for line in trace_file(run).read_text().splitlines()]


def test_repeated_step_is_found_across_the_border_of_two_pieces(write_run, monkeypatch):
    monkeypatch.setattr("repro.trace.rows._AT_ONCE", 3)
    run = write_run(steps=3)
    rewrite(run, lambda lines: [*lines[:-1], lines[steps_of(lines)[-1]], lines[-1]])
    with pytest.raises(ReproError, match="cannot be read") as caught:
        read_trace(run / "attempt-1")
    assert "step 3 is there twice" in caught.value.found[0]


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 100])
def test_steps_are_the_same_however_they_are_cut_into_pieces(write_run, monkeypatch, at_once):
    run = write_run(steps=5)
    rewrite(
        run, lambda lines: [{**x, "fwd": "0a"} if x.get("step") == 4 and x["k"] == "s" else x for x in lines]
    )
    whole = list(read_trace(run / "attempt-1")[0].segments[0].steps.rows())
    monkeypatch.setattr("repro.trace.rows._AT_ONCE", at_once)
    assert list(read_trace(run / "attempt-1")[0].segments[0].steps.rows()) == whole
    assert [step.fwd for step in whole] == [None, None, None, "000000000000000a", None]


def test_missing_steps_are_no_damage(write_run):
    run = write_run(steps=5)
    rewrite(run, lambda lines: [line for line in lines if not (line["k"] == "s" and line["step"] == 3)])
    assert list(read_trace(run / "attempt-1")[0].segments[0].steps.number) == [1, 2, 4, 5]


def test_empty_file_is_a_trace_without_segments(write_run):
    run = write_run()
    trace_file(run).write_bytes(b"")
    (trace,) = read_trace(run / "attempt-1")
    assert (trace.segments, trace.torn) == ([], False)


def test_nan_from_a_step_on_is_read_as_nan(write_run):
    run = write_run(steps=5)
    rewrite(
        run, lambda lines: [{**x, "loss": "nan"} if x["k"] == "s" and x["step"] > 2 else x for x in lines]
    )
    losses = read_trace(run / "attempt-1")[0].segments[0].steps.column("loss")
    assert losses.known.all()
    assert [value != value for value in losses.values] == [False, False, True, True, True]


@pytest.mark.parametrize("fields", [{"gn": "two"}, {"lr": ["0x1p+99999"]}, {"nb": 2**70}])
def test_value_that_is_no_number_names_its_line(write_run, fields):
    run = write_run(steps=4)

    def change(lines):
        at = steps_of(lines)[2]
        return [*lines[:at], {**lines[at], **fields}, *lines[at + 1 :]]

    rewrite(run, change)
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-damaged"
    assert f":{steps_of(lines_of(run))[2] + 1}: step 3 " in caught.value.found[0]


def test_evaluations_calls_and_gradients_are_read(write_run):
    run = write_run(steps=2)
    seen = {"f": "0a", "shape": [2, 3], "dtype": "float32", "norm2": "0x1p+0", "sketch": ["0x1p+0"]}
    records = [
        {"k": "e", "step": 1, "calls": 2, "rows": 8, "mode": "eval", "outputs": "0b", "margin": ["0x1p-3"]},
        {"k": "m", "step": 2, "n": 0, "module": "", "class": "Net", "leaf": False, "inputs": [seen]},
        {"k": "m", "step": 2, "n": 1, "module": "fc", "class": "Linear", "parent": 0, "terms": 64},
        {"k": "g", "step": 2, "grads": [seen, None]},
    ]
    rewrite(run, lambda lines: [*lines[:-1], *records, lines[-1]])
    (segment,) = read_trace(run / "attempt-1")[0].segments
    assert [(e.step, e.mode, e.outputs) for e in segment.evaluations] == [(1, "eval", "0b")]
    assert [(c.n, c.class_, c.parent, c.leaf) for c in segment.calls] == [
        (0, "Net", None, False),
        (1, "Linear", 0, True),
    ]
    assert segment.calls[0].inputs[0].shape == [2, 3]
    assert segment.gradients[0].grads[1] is None


@pytest.mark.parametrize("kind", ["e", "m", "g"])
def test_such_records_before_any_start_are_damage(write_run, kind):
    run = write_run()
    record = {"k": kind, "step": 1, "n": 0, "module": "fc"}
    rewrite(run, lambda lines: [record, *lines])
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-damaged"
