import msgspec

from repro import report
from repro.model.run import Gate, LiveFinding

change = msgspec.structs.replace


def test_run_is_as_checked_in(run, traces, golden):
    golden("run.txt", report.run_text(run, traces))


def test_secrets_of_the_command_stay_hidden(run, traces):
    assert "abc123" not in report.run_text(run, traces)


def test_killed_run_is_not_called_ok(run, traces):
    attempt = change(run.attempt, status="running", exit_code=None, ended="")
    shown = report.run_text(change(run, complete=False, attempt=attempt), traces)
    assert shown.startswith("running: ")
    assert "was killed" in shown
    odd = report.run_text(change(run, complete=False), traces)
    assert odd.startswith("ended, but no result was committed")


def test_run_with_nothing_recorded(run):
    bare = change(run, conditions={}, gates=[], metrics=None, memory=None)
    shown = report.run_text(bare, [])
    assert "none recorded" in shown
    assert "not recorded" in shown


def test_run_document(run, traces):
    document = report.run_document(run, traces)
    assert document["run"]["id"] == run.attempt.run_id
    assert document["steps"] == 8
    assert document["metrics"] == {"eval_acc": 0.9125, "eval_loss": 0.25}
    assert document["peak"]["host_bytes"] == 512 << 20
    assert document["gates"][1]["status"] == "unknown"
    assert "findings" not in document["gates"][1]
    assert (document["status"], document["exit_code"], document["complete"]) == ("ok", 0, True)


def test_a_gate_says_what_it_found(run):
    found = LiveFinding(
        rule="torch-no-code",
        found="sm_86",
        needed="sm_90",
        why="no kernel",
        fix=["lock torch==2.0.0"],
        stops=True,
    )
    gate = Gate(name="card", status="failed", reason="no code", findings=[found], allowed=True)
    (document,) = report.run_document(change(run, gates=[gate]))["gates"]
    assert (document["name"], document["allowed"]) == ("card", True)
    assert document["findings"] == [
        {
            "rule": "torch-no-code",
            "found": "sm_86",
            "needed": "sm_90",
            "why": "no kernel",
            "fix": ["lock torch==2.0.0"],
            "stops": True,
        }
    ]
