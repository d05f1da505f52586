"""Real frameworks, unchanged, under the recorder: the same numbers as without it, every step seen."""

import importlib.util
import json
import math
import os
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


def run(argv: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=cwd, env=environment(cwd), check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(params=sorted(CASES))
def both(request, tmp_path):
    """Folder of the plain and of the recorded run of one program, and its name."""
    library = CASES[request.param][0]
    assert importlib.util.find_spec(library), f"{library} is not installed beside the tests"
    program = str(PROGRAMS / request.param)
    for side in ("plain", "recorded"):
        (tmp_path / side).mkdir()
    run([*words(request.param), program, str(tmp_path / "plain")], tmp_path)
    boot = [
        sys.executable,
        str(ROOT / "repro" / "runtime" / "boot.py"),
        "record",
        "--out",
        str(tmp_path / "run"),
    ]
    run([*boot, "--", *words(request.param), program, str(tmp_path / "recorded")], tmp_path)
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
    program = str(PROGRAMS / name)
    boot = [
        sys.executable,
        str(ROOT / "repro" / "runtime" / "boot.py"),
        "record",
        "--out",
        str(folder / "again"),
    ]
    run([*boot, "--", *words(name), program, str(folder / "recorded")], folder)
    sides = []
    for place in (folder / "run", folder / "again"):
        found = trace.read_run(place)
        sides.append(compare.Side(found, trace.read_trace(Path(found.folder))))
    verdict = compare.judge(*sides)
    assert verdict.first is None, verdict.first
    assert verdict.numerics == "identical", verdict.evidence
