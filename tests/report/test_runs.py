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


def _with_events(traces, *events):
    segment = change(traces[0].segments[0], events=list(events))
    return [change(traces[0], segments=[segment])]


def test_how_it_was_recorded(run, traces):
    told = {"loaded": True, "torch": True, "steps": 8, "share": (0.0061).hex()}
    seen = _with_events(
        traces,
        {"what": "thinned", "step": 400, "every": 128},
        {"what": "thinned", "step": 900, "stride": 4},
        {"what": "thinned", "step": 1800, "stride": 8},
    )
    shown = " ".join(report.run_text(change(run, attempt=change(run.attempt, recorder=told)), seen).split())
    assert "recorder 0.61 % of the time; thinned itself from step 400" in shown
    assert "gradient norm and outputs every 8 steps, states every 128 steps" in shown


def test_a_recorder_that_was_not_there_or_gave_up(run, traces):
    absent = change(run.attempt, recorder={"loaded": False})
    assert "nothing of the training was recorded" in report.run_text(change(run, attempt=absent), traces)
    gave_up = change(run.attempt, recorder={"loaded": True, "stopped": "disk full"})
    assert "disk full; the program went on" in report.run_text(
        change(run, attempt=gave_up), traces, width=120
    )


def test_a_run_that_is_no_whole_one_says_so(run, traces):
    plan = {"seed": "ab" * 32, "perturb": 2, "stop": 64, "dense": [], "sync": False}
    attempt = change(run.attempt, status="limited", plan=plan)
    seen = _with_events(traces, {"what": "seed-checkpoint", "applied": True, "changed": 7})
    shown = report.run_text(change(run, complete=False, attempt=attempt), seen, width=160)
    assert shown.startswith("limited: ")
    assert "from the seed checkpoint abababababab; 7 tensors were not as the program had made them" in shown
    assert "noise member 2" in shown
    assert "ended by us after step 64: no whole run" in shown


def test_dense_steps_and_a_seed_that_did_not_fit(run, traces):
    plan = {"seed": "cd" * 32, "perturb": None, "stop": 0, "dense": [1, 2], "sync": True}
    seen = _with_events(
        traces, {"what": "seed-checkpoint", "applied": False, "reason": "w.0 has another shape"}
    )
    shown = report.run_text(change(run, attempt=change(run.attempt, plan=plan)), seen, width=160)
    assert "recorded module by module at steps 1, 2, each from a stored state" in shown
    assert "not applied: w.0 has another shape" in shown
    document = report.run_document(change(run, attempt=change(run.attempt, plan=plan)), seen)
    assert document["plan"]["dense"] == [1, 2]
