"""Real programs under the real recorder: the pairs of tests/cases/diverge, judged.

Each case trains a small classifier twice under two conditions of which one cause is known. Their
own events are finer than the recorder's signals: `batch` is our samples, `gradient` our gradient.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repro import compare, report, trace
from repro.compare import Side
from repro.model.verdict import Verdict
from repro.paths import runtime_folder

pytestmark = pytest.mark.torch

CASES = Path(__file__).parent.parent / "cases" / "diverge"
SIGNAL_OF = {
    "init": "init",
    "batch": "samples",
    "forward": "loss",
    "gradient": "gradient",
    "update": "update",
}


def record(folder: Path, command: list[str], env: dict[str, str], params: str = "") -> Side:
    words = [sys.executable, str(runtime_folder() / "boot.py"), "record", "--out", "rec"]
    words += ["--params", params] if params else []
    subprocess.run(
        [*words, "--", *command],
        cwd=folder,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        timeout=300,
    )
    run = trace.read_run(folder / "rec")
    return Side(run, trace.read_trace(Path(run.folder)))


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Side, Side]]:
    """Both runs of every case, recorded once."""
    found = {}
    for case in sorted(CASES.iterdir()):
        settings = json.loads((case / "settings.json").read_text("utf-8"))
        pair = []
        for name in ("a", "b"):
            folder = tmp_path_factory.mktemp(f"{case.name}-{name}")
            shutil.copy(case / "run.py", folder)
            (folder / "params.json").write_text(json.dumps(settings[name]["params"]), "utf-8")
            command = [sys.executable, "run.py", "--params", "params.json"]
            pair.append(record(folder, command, settings[name]["env"], "params.json"))
        found[case.name] = (pair[0], pair[1])
    return found


@pytest.fixture(params=sorted(case.name for case in CASES.iterdir()))
def case(request: pytest.FixtureRequest, sides: dict[str, tuple[Side, Side]]) -> tuple[str, dict, Verdict]:
    expected = json.loads((CASES / request.param / "expected.json").read_text("utf-8"))
    return request.param, expected, compare.judge(*sides[request.param])


def test_first_signal_is_the_known_one(case):
    _name, expected, verdict = case
    event = expected["first_signal"]["event"]
    if event == "none":
        assert verdict.first is None
        assert (verdict.verdict, verdict.outcome) == ("identical", "equivalent")
    else:
        assert verdict.first.signal == SIGNAL_OF[event]
        assert verdict.first.step == (expected["first_signal"]["step"] or 0)
        assert verdict.numerics == "untested"


def test_a_parameter_that_differs_is_named_and_refused(case):
    name, _expected, verdict = case
    settings = json.loads((CASES / name / "settings.json").read_text("utf-8"))
    differing = {
        f"params.{k}"
        for k in settings["a"]["params"]
        if settings["a"]["params"][k] != settings["b"]["params"][k]
    }
    named = {row.key for row in verdict.protocol_differences if row.class_ == "must-equal"}
    assert named == differing
    assert (verdict.verdict == "incomparable") == bool(differing)


def test_every_whole_signal_was_compared(case):
    _name, _expected, verdict = case
    assert {"init", "samples", "rng", "loss", "gradient", "update", "weights"} <= verdict.signals.keys()
    assert all(signal.compared > 0 for signal in verdict.signals.values())


def test_cause(sides):
    causes = {name: compare.judge(*pair).cause for name, pair in sides.items()}
    assert causes["control_same_twice"] is None
    assert causes["seed"]["code"] == "parameter-seed"
    assert causes["loader_workers"]["code"] == "parameter-loader-workers"
    assert causes["cpu_instructions_init"]["code"] == "cpu-capability-init"
    assert causes["cpu_instructions_init"]["also"] == []


def test_rounding_is_small_in_the_sketches(sides):
    """Weights that came from one seed at two SIMD levels are apart by the last bits only."""
    verdict = compare.judge(*sides["cpu_instructions_init"])
    assert 0 < verdict.signals["init"].largest_relative < 1e-6
    assert compare.judge(*sides["seed"]).signals["init"].largest_relative > 0.1


def test_every_form_can_show_a_real_verdict(case):
    verdict = case[2]
    assert verdict.verdict in report.text(verdict, width=80, colour=False).splitlines()[0]
    assert verdict.verdict in report.markdown(verdict)
    json.dumps(report.document(verdict), allow_nan=False)


def test_a_real_run_can_be_shown(sides):
    side = sides["seed"][0]
    assert "25, last loss" in report.run_text(side.run, side.traces)
    assert report.run_document(side.run, side.traces)["steps"] == 25


def test_program_without_torch_is_recorded_and_not_called_identical(tmp_path):
    (tmp_path / "x.py").write_text("print(1 + 1)\n", "utf-8")
    first = record(tmp_path, [sys.executable, "x.py"], {})
    assert first.run.complete
    assert first.traces == []
    verdict = compare.judge(first, first)
    assert (verdict.verdict, verdict.numerics) == ("untested", "untested")


def test_killed_run_is_incomplete(tmp_path, sides):
    shutil.copy(CASES / "seed" / "run.py", tmp_path)
    killed = tmp_path / "killed.py"
    killed.write_text(
        "import os, runpy, torch\n"
        "step = torch.optim.SGD.step\n"
        "def dying(self, *rest, count=[0]):\n"
        "    count[0] += 1\n"
        "    if count[0] > 12:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return step(self, *rest)\n"
        "torch.optim.SGD.step = dying\n"
        "runpy.run_path('run.py', run_name='__main__')\n",
        "utf-8",
    )
    words = [sys.executable, str(runtime_folder() / "boot.py"), "record", "--out", "rec", "--"]
    done = subprocess.run(
        [*words, sys.executable, "killed.py"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode != 0
    run = trace.read_run(tmp_path / "rec")
    assert not run.complete
    verdict = compare.judge(
        sides["seed"][0], Side(run, trace.read_trace(Path(run.folder))), allow=["params", "command"]
    )
    assert verdict.verdict == "incomplete"
    assert compare.exit_status(verdict.verdict) == 7


UNSEEDED = """
import random, torch
torch.manual_seed(7)
data = torch.tensor([[random.random() for _ in range(4)] for _ in range(32)])
model = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    loss = model(data[step * 4:step * 4 + 4]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""


def test_a_generator_that_nobody_seeded_is_named(tmp_path: Path) -> None:
    """As in a paper's script that seeds torch and draws its data from NumPy."""
    sides = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(UNSEEDED, "utf-8")
        sides.append(record(tmp_path / name, [sys.executable, "train.py"], {}))
    verdict = compare.judge(*sides)
    assert (verdict.first.signal, verdict.first.step) == ("samples", 1)
    assert verdict.cause["code"] == "unseeded-generator"
    assert verdict.cause["because"] == ["unseeded generator: python"]
