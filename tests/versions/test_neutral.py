"""Recorded and unrecorded runs of both examples end with bit-equal weights and generators, on every torch.

Four releases in containers here; the one that is installed beside the tests, and a real wheel of torch
1.4 for Python 3.8 (1 GB with its libraries, so only where REPRO_TORCH14 names such an interpreter).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
EXAMPLES = {
    "digits-cnn": ["--set", "epochs=2"],
    "addition-transformer": ["--set", "steps=70", "eval_every=70", "warmup=10"],
}
# torch 1.7.1 of Debian aborts when its interpreter leaves after a backward, recorded or not.
ABORTS = 134


def words(python: list[str], root: str, work: str, example: str, recorded: bool) -> list[str]:
    out = f"{work}/{'recorded' if recorded else 'plain'}"
    record = [*python, f"{root}/repro/runtime/boot.py", "record", "--out", f"{work}/run", "--"]
    script = f"{root}/bundles/{example}/train.py"
    return [
        *(record if recorded else []),
        *python,
        f"{root}/tests/versions/final_state.py",
        out,
        script,
        "--out",
        out,
        *EXAMPLES[example],
    ]


def final_state(argv: list[str], env: dict[str, str] | None = None) -> tuple[dict, int]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("final-state ")]
    assert len(lines) == 1, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(lines[0].partition(" ")[2]), done.returncode


def steps(work: Path) -> list[dict]:
    lines = (work / "run" / "attempt-1" / "trace-0.jsonl").read_text().splitlines()
    assert not any("recorder-stopped" in line for line in lines)
    return [record for record in map(json.loads, lines) if record["k"] == "s"]


@pytest.mark.docker
@pytest.mark.versions
@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_releases_of_debian(suite, example, tmp_path):
    image, version = suite
    inside = [
        "docker", "run", "--rm", "--init", "--network=none", "--user", f"{os.getuid()}:{os.getgid()}",
        "--env", "OMP_NUM_THREADS=1", "--volume", f"{ROOT}:/src:ro", "--volume", f"{tmp_path}:/work", image,
    ]  # fmt: skip
    plain, status = final_state([*inside, *words(["python3"], "/src", "/work", example, False)])
    recorded, recorded_status = final_state([*inside, *words(["python3"], "/src", "/work", example, True)])
    assert plain == recorded
    assert plain["torch"].startswith(version)
    assert status == recorded_status
    assert status in ((0, ABORTS) if version == "1.7" else (0,))
    assert len(steps(tmp_path)) >= 70


@pytest.mark.torch
@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_the_installed_one(example, tmp_path):
    compare_on(sys.executable, example, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("REPRO_TORCH14"), reason="REPRO_TORCH14 names no Python with torch 1.4"
)
@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_torch_1_4(example, tmp_path):
    found = compare_on(shutil.which(os.environ["REPRO_TORCH14"]), example, tmp_path)
    assert found["torch"].startswith("1.4.")


def compare_on(python: str, example: str, work: Path) -> dict:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "REPRO_"))}
    env["OMP_NUM_THREADS"] = "1"
    plain, status = final_state(words([python], str(ROOT), str(work), example, False), env)
    recorded, recorded_status = final_state(words([python], str(ROOT), str(work), example, True), env)
    assert plain == recorded
    assert (status, recorded_status) == (0, 0)
    assert len(steps(work)) >= 70
    return plain
