"""The Python side of `repro compare`, on run folders."""

import json

import pytest

from repro import api
from repro.errors import ReproError

START = {
    "k": "start",
    "format": 2,
    "rank": 0,
    "params": [{"name": "w", "shape": [2], "dtype": "float32"}],
    "buffers": [],
}


def shot(step, apart):
    sketch = [(1.0).hex(), (0.01 * step).hex(), float(apart).hex(), *[(0.0).hex()] * 29]
    mark = f"{step:015x}{int(apart > 0)}"
    return {"k": "p", "step": step, "weights": [mark], "norm2": (1.0).hex(), "sketch": sketch}


@pytest.fixture
def run(tmp_path):
    """`run(name, apart=0.0)`: the folder of a run of 16 steps whose weights are apart by that much a step."""

    def write(name, apart=0.0, **state):
        folder = tmp_path / name / "attempt-1"
        folder.mkdir(parents=True)
        lines = [START, shot(0, 0.0)]
        for n in range(1, 17):
            lines += [
                {"k": "s", "step": n, "loss": (1 / n).hex(), "nb": 1, "gn": (2 / n).hex()},
                shot(n, apart * n),
            ]
        lines.append({"k": "end", "steps": 16, "status": "ok"})
        (folder / "trace-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        attempt = {"schema": 1, "attempt": 1, "status": "ok", "run_id": name, "exit_code": 0, **state}
        (folder / "run.json").write_text(json.dumps(attempt), "utf-8")
        (tmp_path / name / "result.json").write_text(
            json.dumps({"schema": 1, "attempt": 1, "status": "ok"}), "utf-8"
        )
        return tmp_path / name

    return write


def test_runs_by_path(run):
    verdict = api.compare(run("a"), str(run("b")))
    assert (verdict.verdict, api.exit_status(verdict)) == ("identical", 0)


def test_members_decide_and_a_loaded_run_serves_again(run):
    a, members = api.load(run("a")), [run(f"m{n}", 1e-8 + n * 1e-9) for n in (1, 2, 3)]
    near = api.compare(a, run("near", 2e-8), members=members)
    far = api.compare(a, api.load(run("far", 1e-6)), members=members)
    assert [(v.numerics, v.basis) for v in (near, far)] == [
        ("within-rounding", "members"),
        ("beyond-rounding", "members"),
    ]
    assert api.compare(a, run("alone", 2e-8)).basis == "bound"


def test_allowed_difference(run):
    a, b = run("a", plan={"seed": "aa"}), run("b", plan={"seed": "bb"})
    assert api.compare(a, b).verdict == "incomparable"
    assert api.compare(a, b, allow=["seed_checkpoint"]).verdict == "identical"


def test_what_is_no_run_is_an_error_with_its_code(run, tmp_path):
    with pytest.raises(ReproError) as told:
        api.compare(run("a"), tmp_path / "nothing")
    assert told.value.code == "run-not-found"
