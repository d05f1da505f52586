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
    assert [step.step for step in segment.steps] == [1, 2, 3]
    assert [shot.step for shot in segment.snapshots] == [0, 1, 2, 3]
    assert segment.steps[1].loss == (0.5).hex()
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
    text = trace_file(run).read_text().replace('"format": 1', '"format": 2')
    trace_file(run).write_text(text)
    with pytest.raises(ReproError) as caught:
        read_trace(run / "attempt-1")
    assert caught.value.code == "trace-too-new"
    assert caught.value.exit_status == 5


def test_unknown_kinds_and_unknown_fields_are_passed_over(write_run):
    run = write_run()
    lines = [json.loads(line) for line in trace_file(run).read_text().splitlines()]
    lines[2]["module_hash"] = "00"
    lines.insert(2, {"k": "m", "name": "conv1"})
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
