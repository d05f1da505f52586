import json

import pytest

from repro.errors import ReproError
from repro.trace import read_run


def refused(path, code="run-unreadable"):
    with pytest.raises(ReproError) as caught:
        read_run(path)
    assert caught.value.code == code
    assert caught.value.exit_status == 5
    return caught.value


def test_whole_run(write_run):
    run = read_run(write_run(label="avx2"))
    assert run.complete
    assert run.attempt.label == "avx2"
    assert run.conditions == {"torch.version": "2.13.0"}
    assert run.metrics is not None
    assert run.metrics.values == {"acc": "0x1.8p-1"}
    assert run.files == {"run.json": "00"}


def test_attempt_of_the_result_counts(write_run):
    path = write_run(attempts=3, result=2)
    run = read_run(path)
    assert run.attempt.attempt == 2
    assert run.folder == str(path / "attempt-2")
    assert run.complete


def test_without_a_result_the_last_attempt_is_read_as_incomplete(write_run):
    run = read_run(write_run(attempts=11, result=None, status="running"))
    assert run.attempt.attempt == 11
    assert not run.complete


def test_an_attempts_folder_is_accepted(write_run):
    path = write_run(attempts=2, result=2)
    assert read_run(path / "attempt-2").complete
    other = read_run(path / "attempt-1")
    assert not other.complete
    assert other.path == str(path)


def test_failed_result_is_not_complete(write_run):
    path = write_run(status="failed")
    (path / "result.json").write_text('{"schema":1,"attempt":1,"status":"failed","files":{}}')
    assert not read_run(path).complete


def test_missing_parts_are_empty(write_run):
    path = write_run()
    for name in ("conditions.json", "metrics.json"):
        (path / "attempt-1" / name).unlink()
    run = read_run(path)
    assert run.conditions == {}
    assert run.metrics is None
    assert run.rows == []


@pytest.mark.parametrize("make", ["missing", "file", "empty", "foreign", "bundle"])
def test_foreign_places_say_what_a_run_holds(tmp_path, make):
    place = tmp_path / "x"
    if make == "file":
        place.write_text("hello")
    elif make != "missing":
        place.mkdir()
    if make == "foreign":
        (place / "train.py").touch()
    if make == "bundle":
        (place / "bundle.json").write_text("{}")
    error = refused(place)
    assert "attempt-1/run.json" in error.needs[0]
    words = {
        "missing": "no such folder",
        "file": "a file",
        "empty": "empty",
        "foreign": "train.py",
        "bundle": "runs",
    }
    assert words[make] in error.found[0]


def test_result_that_names_a_missing_attempt(write_run):
    path = write_run()
    (path / "result.json").write_text('{"schema":1,"attempt":4,"status":"ok","files":{}}')
    assert "attempt-4" in refused(path).needs[0]


@pytest.mark.parametrize("name", ["run.json", "conditions.json", "metrics.json"])
def test_damaged_file_is_named(write_run, name):
    path = write_run()
    (path / "attempt-1" / name).write_text('{"schema": 1, "val')
    assert name in refused(path).found[0]


def test_metric_that_is_no_number_is_named(write_run):
    path = write_run()
    (path / "attempt-1" / "metrics.json").write_text('{"schema":1,"values":{"acc":"good"}}')
    assert "acc" in refused(path).message


def test_newer_schema_is_refused(write_run):
    path = write_run()
    (path / "attempt-1" / "run.json").write_text('{"schema": 2, "attempt": 1, "status": "ok"}')
    refused(path, "run-too-new")


def test_rows_of_a_killed_run_may_end_in_a_cut_line(write_run):
    path = write_run(result=None)
    rows = path / "attempt-1" / "eval.jsonl"
    rows.write_text('{"id":1}\n{"id":2}\n{"id"')
    assert [row["id"] for row in read_run(path).rows] == [1, 2]
    (path / "result.json").write_text('{"schema":1,"attempt":1,"status":"ok","files":{}}')
    assert "eval.jsonl:3" in refused(path).found[0]


def test_parameters_come_from_beside_the_record(write_run):
    path = write_run()
    document = {"schema": 1, "file": "p.json", "source_sha256": "00", "values": {"lr": 0.1}, "overrides": {}}
    (path / "attempt-1" / "params.json").write_text(json.dumps(document))
    run = read_run(path)
    assert run.params == {"lr": 0.1}
    assert run.params_file == "p.json"


def bundle_around(write_run, bundle_id):
    run = write_run("bundle/runs/r1", bundle={"id": "abc", "name": "x"})
    around = run.parent.parent
    (around / "bundle.json").write_text(
        json.dumps({"schema": 1, "id": bundle_id, "identity": {"tree": "t1"}})
    )
    (around / "protocol.json").write_text('{"schema":1,"protocol":{"precision":"fp32"}}')
    return read_run(run)


def test_the_bundle_around_is_asked_when_it_is_the_one_that_the_run_names(write_run):
    run = bundle_around(write_run, "abc")
    assert run.identity == {"tree": "t1"}
    assert run.protocol["protocol"] == {"precision": "fp32"}


def test_another_bundle_around_is_not_asked(write_run):
    run = bundle_around(write_run, "other")
    assert run.identity == {}
    assert run.protocol == {}


def test_what_the_runtime_noted_comes_first(write_run):
    run = read_run(write_run(bundle={"id": "abc", "identity": {"tree": "t2"}, "protocol": {"name": "x"}}))
    assert run.identity == {"tree": "t2"}
    assert run.protocol == {"name": "x"}


def printed(write_run, protocol, text):
    path = write_run(bundle={"id": "abc", "protocol": protocol})
    (path / "attempt-1" / "log.txt").write_bytes(text)
    return read_run(path).history


def test_printed_metrics_are_read_where_a_target_is_declared(write_run):
    spec = {
        "log": {"acc": "acc ([0-9.]+)", "bad": "(", "none": "x", "word": "at (\\w+)"},
        "protocol": {"target": 1},
    }
    text = b"acc 0.5 acc 0.75\r\n\xff acc 1\nat home\nacc ...\n"
    assert printed(write_run, spec, text) == {"acc": [x.hex() for x in (0.5, 0.75, 1.0)], "word": []}


@pytest.mark.parametrize(
    "protocol", [{"log": {"acc": "acc (.+)"}, "protocol": {"target": None}}, {"protocol": {"target": 1}}, {}]
)
def test_without_a_target_or_a_pattern_nothing_is_read(write_run, protocol):
    assert printed(write_run, protocol, b"acc 1\n") == {}
