"""Real programs under the real recorder: the pairs of tests/cases/diverge, judged through the command line.

Each case trains a small classifier twice under two conditions of which one cause is known. Their own events
are fewer than our signals: `batch` is our samples, a generator's state, our rng, is none of them, and
`forward` is a hash of the loss, ours of all outputs.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro import compare, report, trace
from repro.compare import Side
from repro.paths import runtime_folder

from . import recording

pytestmark = pytest.mark.torch

CASES = Path(__file__).parent.parent / "cases" / "diverge"
NAMES = sorted(case.name for case in CASES.iterdir())
EVENT_OF = {"samples": "batch", "loss": "forward", "weights": "update"}
VERDICTS = {
    "no_divergence": {"identical"},
    "rounding_only": {"within-rounding"},
    "diverged": {"beyond-rounding"},
}
Runs = dict[str, tuple[Path, Path]]


def expected(name: str) -> dict[str, Any]:
    return json.loads((CASES / name / "expected.json").read_text("utf-8"))


def settings(name: str) -> dict[str, Any]:
    return json.loads((CASES / name / "settings.json").read_text("utf-8"))


def differing(name: str) -> set[str]:
    a, b = (settings(name)[side].get("params", {}) for side in ("a", "b"))
    return {f"params.{key}" for key in a if a[key] != b[key]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Both runs of every case, recorded once as plain scripts."""
    found = {}
    for name in NAMES:
        pair = []
        for side in ("a", "b"):
            folder = tmp_path_factory.mktemp(f"{name}-{side}") / "project"
            shutil.copytree(CASES / name, folder, ignore=shutil.ignore_patterns("*.json"))
            given = settings(name)[side]
            (folder / "params.json").write_text(json.dumps(given.get("params", {})), "utf-8")
            command = [sys.executable, "run.py", "--params", "params.json"]
            pair.append(recording.record(folder, command, given["env"]))
        found[name] = (pair[0], pair[1])
    return found


@pytest.fixture(params=NAMES)
def case(request: pytest.FixtureRequest, runs: Runs) -> tuple[str, Callable[..., dict[str, Any]]]:
    """A case, and the document that `repro compare` gives for it with these options."""
    a, b = runs[request.param]

    def document(*options: str) -> dict[str, Any]:
        status, said = recording.asked(a, b, *options)
        assert status == compare.exit_status(said["verdict"])
        return said

    return request.param, document


def first_event(said: dict[str, Any]) -> tuple[str, int]:
    """The first of their events that differs: a generator's state is none, what follows from it is."""
    first = said["first"]
    if first is None:
        return "none", 0
    signal = first["signal"]
    if signal == "rng":
        at = first["step"]
        order = ("samples", "forward", "loss", "gradient")
        signal = next(name for name in order if said["signals"][name]["first_step"] == at)
    return EVENT_OF.get(signal, signal), first["step"]


def test_answers(case):
    """Without a word from the user, parameters that differ are refused by name; `--allow` gives the rest."""
    name, document = case
    known = expected(name)
    said = document()
    named = {row["key"] for row in said["protocol_differences"] if row["class"] == "must-equal"}
    assert named == differing(name)
    if named:
        assert said["verdict"] == "incomparable"
        said = document("--allow", "params")
    event, step = first_event(said)
    wanted = known["first_signal"]
    assert event in {wanted["event"], *wanted.get("also_accept", [])}
    if wanted["step"] is not None:
        assert step == wanted["step"]
    assert said["cause"]["code"] == known["cause"]
    assert said["verdict"] in VERDICTS[known["verdict"]]
    assert (said["repeatable"] is False) == (not known["repeatable"])


def test_whole_signals_were_compared(case):
    _name, document = case
    signals = document()["signals"]
    assert {"init", "samples", "rng", "forward", "loss", "gradient", "update", "weights"} <= signals.keys()
    assert all(signal["compared"] > 0 for signal in signals.values())


def test_sure_as_far_as_the_evidence_goes(runs):
    """Proven where it excludes all else; files in another order are imitated there, so nothing proves it."""
    sure = {name: compare.judge(*map(recording.side, pair)).cause["sure"] for name, pair in runs.items()}
    assert sure.pop("file_order") == "possible"
    likely = {"set_order_vocabulary", "library_default_changed"}
    assert {name for name, word in sure.items() if word != "proven"} == likely


def test_rounding_is_small_in_the_sketches(runs):
    """Weights that came from one seed at two SIMD levels are apart by the last bits only."""
    sides = {name: [recording.side(run) for run in runs[name]] for name in ("cpu_instructions_init", "seed")}
    verdict = compare.judge(*sides["cpu_instructions_init"])
    assert 0 < verdict.signals["init"].largest_relative < 1e-6
    assert compare.judge(*sides["seed"]).signals["init"].largest_relative > 0.1


def test_every_form_can_show_a_real_verdict(runs):
    for pair in runs.values():
        verdict = compare.judge(*map(recording.side, pair))
        assert verdict.verdict in report.text(verdict, width=80, colour=False)
        assert verdict.verdict in report.markdown(verdict)
        json.dumps(report.document(verdict), allow_nan=False)


def test_a_real_run_can_be_shown(runs):
    side = recording.side(runs["seed"][0])
    assert "25, last loss" in report.run_text(side.run, side.traces)
    assert report.run_document(side.run, side.traces)["steps"] == 25


def test_program_without_torch_is_recorded_and_not_called_identical(tmp_path):
    (tmp_path / "x.py").write_text("print(1 + 1)\n", "utf-8")
    first = recording.side(recording.record(tmp_path, [sys.executable, "x.py"], {}))
    assert first.run.complete
    assert first.traces == []
    verdict = compare.judge(first, first)
    assert (verdict.verdict, verdict.numerics, verdict.cause) == ("untested", "untested", None)


def test_killed_run_is_incomplete(tmp_path, runs):
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
        recording.side(runs["seed"][0]),
        Side(run, trace.read_trace(Path(run.folder))),
        allow=["params", "command"],
    )
    assert verdict.verdict == "incomplete"
    assert compare.exit_status(verdict.verdict) == 7
