"""The gate `gpus`: cards that were asked for against those that are visible."""

import pytest

from repro.runtime import visible
from repro.runtime.child import NoAnswerError

TWO = [{"name": "NVIDIA A100", "uuid": f"GPU-{n}"} for n in (1, 2)]
SHOWN = {"name": "NVIDIA A100", "capability": "8.0", "memory_bytes": 1}


class Sight:
    """What a machine and the program's torch say, as `repro_runtime.sight` reads it."""

    def __init__(self, cards=(), *, present=None, problem="", **program) -> None:
        there = bool(cards) if present is None else present
        self._machine = {"driver": "535.104.05", "cards": list(cards), "problem": problem, "present": there}
        self._program = {"cuinit": 0, "devices": [], **program}

    def machine(self):
        return self._machine

    def program(self):
        return self._program


def row(sight, asked, count=0, engine="docker"):
    found = visible.look(sight, asked, count, engine)
    return found["status"], found["reason"]


@pytest.mark.parametrize("asked", ["", "none", None, " , "])
def test_nothing_asked_is_nothing_to_hold(asked) -> None:
    assert row(Sight(TWO), asked)[0] == "skipped"
    assert row(Sight(), asked)[0] == "skipped"


@pytest.mark.parametrize(
    ("asked", "count", "status", "reason"),
    [
        ("all", 0, "passed", "2 of 1 GPUs visible"),
        ("all", 2, "passed", "2 of 2 GPUs visible"),
        ("all", 8, "failed", "2 of 8 GPUs visible"),
        ("0,1", 0, "passed", "2 of 2 GPUs visible"),
        ("0,1,2", 0, "failed", "2 of 3 GPUs visible"),
        ("GPU-2", 0, "passed", "2 of 1 GPUs visible"),
        ("GPU-3", 0, "failed", "2 of 1 GPUs visible; no GPU-3"),
        ("MIG-1", 0, "passed", "2 of 1 GPUs visible"),
    ],
)
def test_two_cards_against_what_was_asked(asked, count, status, reason) -> None:
    assert row(Sight(TWO), asked, count) == (status, reason)


def test_what_the_program_is_shown_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    found = visible.look(Sight(TWO, devices=[SHOWN]), "0,1", 0, "docker")
    assert (found["status"], found["reason"]) == ("failed", "1 of 2 GPUs visible")
    assert found["findings"][0]["why"] == "CUDA_VISIBLE_DEVICES is `0` here"
    assert row(Sight(TWO, cuinit=100), "all") == ("failed", "0 of 1 GPUs visible")
    assert row(Sight(TWO, devices=[SHOWN, SHOWN]), "0,1")[0] == "passed"


def test_a_podman_that_drops_the_request_is_named() -> None:
    (finding,) = visible.look(Sight(), "all", 0, "podman")["findings"]
    assert "Podman before 5.4" in finding["why"]
    assert finding["stops"]
    assert finding["fix"][0].startswith("podman run --device")


def test_a_device_without_the_drivers_libraries_is_named() -> None:
    sight = Sight(present=True, problem="NVML: NVML Shared Library Not Found")
    (finding,) = visible.look(sight, "all")["findings"]
    assert "`compute` and `utility`" in finding["why"]


def test_a_torch_that_does_not_answer_leaves_the_machine_s_own_list() -> None:
    class Silent(Sight):
        def program(self):
            raise NoAnswerError("gone")

    assert row(Silent(TWO), "0,1")[0] == "passed"


def test_a_python_too_old_for_nvml_s_module_counts_device_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    sight = Sight(present=True, problem="pynvml does not import on Python 3.6: SyntaxError: f")
    monkeypatch.setattr(visible.glob, "glob", lambda pattern: ["/dev/nvidia1", "/dev/nvidia0"])
    assert row(sight, "0,1") == ("passed", "2 of 2 GPUs visible")
    assert row(sight, "0,1,2")[0] == "failed"


def test_a_sight_that_fails_is_a_refusal_with_words() -> None:
    class Broken(Sight):
        def machine(self):
            raise RuntimeError("no")

    assert row(Broken(), "all") == ("failed", "GPUs could not be counted: RuntimeError: no")


def test_a_run_in_place_that_wants_cards_is_refused_without(bundle, tmp_path) -> None:
    from repro.runtime import nvml

    if nvml.read()["present"]:
        pytest.skip("this machine has a card")
    done = bundle.run(tmp_path / "run", "--gpus", "all")
    assert done.returncode == 3
    assert "gate gpus: 0 of 1 GPUs visible" in done.stderr
    assert not (tmp_path / "run" / "result.json").exists()
