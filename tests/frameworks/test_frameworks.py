"""Real frameworks, unchanged, under the recorder: the same numbers as without it, every step seen."""

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.frameworks]

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(__file__).resolve().parent / "programs"
# Module that must be there, how the program is started, optimizer steps it takes, micro-batches a step.
CASES = {
    "with_lightning.py": ("lightning", ["python"], 12, 2),
    "with_trainer.py": ("transformers", ["python"], 16, 2),
    "with_accelerate.py": ("accelerate", ["python"], 16, 2),
    "with_torchrun.py": ("torch", ["python", "-m", "torch.distributed.run", "--nproc-per-node=2"], 16, 1),
}


def words(name: str) -> list[str]:
    return [sys.executable if word == "python" else word for word in CASES[name][1]]


def environment(home: Path) -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "REPRO_", "HF_"))}
    return {
        **keep,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(home),
        "PYTHONHASHSEED": "0",
    }


# What torch said in one of seventy unrecorded runs, as a rank left. Twice in a row is a failure.
ABORTED = "terminate called without an active exception"
BOOT = str(ROOT / "repro" / "runtime" / "boot.py")


def train(folder: Path, name: str, side: str, record: str = "") -> None:
    """Run a program that writes into `side`, recorded in `record`; again where torch aborts at its end."""
    argv = [*words(name), str(PROGRAMS / name), str(folder / side)]
    if record:
        argv = [sys.executable, BOOT, "record", "--out", str(folder / record), "--", *argv]
    for _ in range(2):
        for made in (folder / side, folder / record) if record else (folder / side,):
            shutil.rmtree(made, ignore_errors=True)
        (folder / side).mkdir()
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment(folder),
            check=False,
            timeout=300,
        )
        if ABORTED not in done.stderr + done.stdout:
            break
    assert done.returncode == 0, done.stderr[-3000:]


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(params=sorted(CASES))
def both(request, tmp_path):
    """Folder of the plain and of the recorded run of one program, and its name."""
    library = CASES[request.param][0]
    assert importlib.util.find_spec(library), f"{library} is not installed beside the tests"
    train(tmp_path, request.param, "plain")
    train(tmp_path, request.param, "recorded", "run")
    return tmp_path, request.param


def test_recorded_unchanged_and_whole(both):
    import torch

    folder, name = both
    a, b = (torch.load(folder / side / "end.pt") for side in ("plain", "recorded"))
    assert torch.equal(a["rng"], b["rng"])
    for key, tensor in a["model"].items():
        assert tensor.numpy().tobytes() == b["model"][key].numpy().tobytes(), key
    traces = sorted((folder / "run" / "attempt-1").glob("trace-*.jsonl"))
    assert len(traces) == (2 if name == "with_torchrun.py" else 1)
    _, _, steps, micro = CASES[name]
    for trace in traces:
        lines = records(trace)
        found = [line for line in lines if line["k"] == "s"]
        assert [line["step"] for line in found] == list(range(1, steps + 1))
        assert {line["nb"] for line in found} == {micro}
        assert all(math.isfinite(float.fromhex(line["loss"])) for line in found)
        assert all(line["fwd"] and line["batch"] for line in found)
        assert not [line for line in lines if line.get("what") == "recorder-stopped"]
        start = next(line for line in lines if line["k"] == "start")
        assert not [
            p["name"] for p in start["params"] if p["name"].startswith(("opt", "module.", "_orig_mod"))
        ]


def test_two_recorded_runs_are_identical(both):
    from repro import compare, trace

    folder, name = both
    train(folder, name, "recorded", "again")
    sides = []
    for place in (folder / "run", folder / "again"):
        found = trace.read_run(place)
        sides.append(compare.Side(found, trace.read_trace(Path(found.folder))))
    verdict = compare.judge(*sides)
    assert verdict.first is None, verdict.first
    assert verdict.numerics == "identical", verdict.evidence
