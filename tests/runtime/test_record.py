"""`record` without torch: any command, run where one stands."""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def go(rt, tmp_path):
    def run(*command, options=(), env=None, check=0, cwd=tmp_path):
        words = rt.record_words(tmp_path / "run", *command, options=options)
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=cwd, env=rt.environment(**(env or {}))
        )
        assert done.returncode == check, done.stdout + done.stderr
        number = len(list((tmp_path / "run").glob("attempt-*")))
        return done, rt.Attempt(tmp_path / "run", max(number, 1))

    return run


def test_python_without_torch(go, rt, tmp_path):
    program = str(rt.programs / "no_torch.py")
    done, attempt = go(sys.executable, program, "{out}/metrics.json")
    assert attempt.state["recorder"] == {"loaded": True, "torch": False, "steps": 0}
    assert done.stdout == attempt.log
    assert str(attempt.path / "out" / "metrics.json") in done.stdout
    assert (tmp_path / "made").is_dir()
    assert attempt.json("metrics.json")["values"] == {
        "score": "0x1.0000000000000p-1",
        "nested.depth": (2.0).hex(),
    }
    values = attempt.json("conditions.json")["values"]
    assert values["python.version"] == sys.version.split()[0]
    assert attempt.state["inputs"].keys() >= {program}
    assert attempt.gates() == {"checkpoint-reload": "skipped", "finite": "skipped"}
    assert attempt.json("memory.json")["host_bytes"] > 1 << 20


def test_no_python_at_all(go):
    _, attempt = go("sh", "-c", "echo one; echo two >&2; exit 5", check=5)
    assert attempt.state["recorder"] == {"loaded": False, "torch": False, "steps": 0}
    assert (attempt.state["status"], attempt.state["exit_code"]) == ("failed", 5)
    assert sorted(attempt.log.split()) == ["one", "two"]
    assert not (attempt.path.parent / "result.json").exists()


def test_a_sitecustomize_of_the_user_still_runs(go, rt, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("MARK = 'mine'\n")
    done, _ = go(sys.executable, str(rt.programs / "no_torch.py"), env={"PYTHONPATH": str(tmp_path / "own")})
    assert "sitecustomize mine" in done.stdout


def test_parameters_and_label_are_kept(go, tmp_path):
    (tmp_path / "p.json").write_text('{"lr": 0.5}')
    options = ("--params", "p.json", "--label", "mine", "--run-id", "r1", "--env-note", "card=none")
    _, attempt = go("true", options=options)
    assert attempt.json("params.json")["values"] == {"lr": 0.5}
    assert (attempt.state["label"], attempt.state["run_id"], attempt.state["environment"]) == (
        "mine",
        "r1",
        {"card": "none"},
    )


def test_result_is_made_once_and_names_every_file(go):
    go("true")
    go("true")
    _, second = go("true")
    result = json.loads((second.path.parent / "result.json").read_text())
    assert result["attempt"] == 1
    assert {"run.json", "gates.json", "conditions.json", "memory.json", "checkpoints.json", "log.txt"} == set(
        result["files"]
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["record", "--out", "x"], 2, "nothing to record"),
        (["frobnicate"], 2, "invalid choice"),
        (["record", "--out", "x", "--env-note", "novalue", "--", "true"], 2, "KEY=VALUE"),
        (["record", "--out", "/proc/nowhere", "--", "true"], 3, "cannot be written"),
        (["record", "--out", "x", "--", "no-such-command"], 127, "`no-such-command` was not found"),
        (["run", "--bundle", "/nonexistent", "--out", "x"], 2, "protocol.json"),
    ],
)
def test_what_cannot_be_done_is_said(rt, tmp_path, words, code, said):
    done = subprocess.run(
        [sys.executable, str(rt.runtime / "boot.py"), *words], capture_output=True, text=True, cwd=tmp_path,
        env=rt.environment(),
    )  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_help_explains_itself(rt):
    for words in ([], ["--help"], ["run", "--help"], ["record", "--help"]):
        done = subprocess.run(
            [sys.executable, str(rt.runtime / "boot.py"), *words],
            capture_output=True,
            text=True,
            env=rt.environment(),
        )
        assert done.returncode == 0
        assert "Exit status" in done.stdout
    assert "--snapshot-every" in done.stdout


def test_only_the_output_folder_is_written(go, rt, tmp_path):
    """No byte code beside the runtime's files, no cache in a home that may not exist."""
    before = {p for p in rt.runtime.rglob("*") if "__pycache__" not in p.parts}
    _, attempt = go(sys.executable, "-c", "import json; print('x')", env={"HOME": "/nonexistent"})
    assert {p for p in rt.runtime.rglob("*") if "__pycache__" not in p.parts} == before
    assert not (attempt.path / "cache").exists()
    assert list((attempt.path / "out").iterdir()) == []
