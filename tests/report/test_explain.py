"""`repro compare --explain`: the cause in full, or what would have to be recorded to find one."""

import msgspec

from repro import report

from .pages import full

change = msgspec.structs.replace


def test_a_known_cause_in_full():
    said = report.explained(full(), width=200)
    for part in (
        "cause, proven (tf32-one-side):",
        "cuDNN computes float32 convolutions in TF32",
        "forward differs at step 1, in features.conv1",
        "equal throughout: init, samples, rng",
        "features.conv1: precision tf32",
        "torch.backends.cudnn.allow_tf32 = False",
    ):
        assert part in said


def test_rivals_are_named():
    cause = {**full().cause, "also": ["device.driver"], "sure": "likely"}
    said = report.explained(change(full(), cause=cause))
    assert "what differs as well and could have done it too:\n  - device.driver" in said
    assert "cause, likely" in said


def test_what_a_rule_says_besides_is_shown():
    changes = [{"id": "tf32-cudnn-on", "what": "cuDNN may use TF32.", "pin": "False", "source": "notes"}]
    cause = {**full().cause, "sure": "possible", "next": ["repro replay b"], "changes": changes}
    said = report.explained(change(full(), cause=cause), width=200)
    assert "cause, possible (tf32-one-side):" in said
    assert "record next:\n  - repro replay b" in said
    assert "cuDNN may use TF32. Pin: False. (tf32-cudnn-on; notes)" in said
    assert "source:\n  - CUDA semantics" in said


def test_an_unknown_cause_says_what_to_record():
    said = report.explained(
        change(full(), cause=None, replay=None, envelope=None, repeatable=None), width=200
    )
    assert "unknown" in said
    for command in ("repro replay 20261201-081512-digits-a100-9ab0", "repro run --make-reference", "repeat"):
        assert command in said


def test_no_difference_needs_no_cause():
    said = report.explained(change(full(), first=None, cause=None, verdict="identical"))
    assert "no difference was found" in said
    assert "nothing is left to do" in said
