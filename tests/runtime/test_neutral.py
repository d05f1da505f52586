"""The recorder changes nothing: results, random numbers and compiled graphs are as without it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch


def plain(rt, cwd, name, *arguments):
    words = [sys.executable, str(rt.programs / name), *arguments]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=rt.environment(), check=True)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_final_state_is_equal_in_every_bit(record, rt, tmp_path, workers):
    import torch

    (tmp_path / "plain").mkdir()
    (tmp_path / "recorded").mkdir()
    plain(rt, tmp_path, "loader_cnn.py", str(tmp_path / "plain"), workers, "3")
    record("loader_cnn.py", str(tmp_path / "recorded"), workers, "3")
    a, b = (torch.load(tmp_path / side / "epoch3.pt") for side in ("plain", "recorded"))
    assert torch.equal(a["rng"], b["rng"])
    for name, tensor in a["model"].items():
        assert tensor.numpy().tobytes() == b["model"][name].numpy().tobytes(), name
    for number, entry in a["optimizer"]["state"].items():
        for key, value in entry.items():
            assert torch.equal(value, b["optimizer"]["state"][number][key]), (number, key)


def test_compiled_model(record, rt, tmp_path):
    alone = plain(rt, tmp_path, "compiled.py")
    run = record("compiled.py")
    assert run.out == alone.stdout
    assert "recorder-stopped" not in (run.attempt.path / "trace-0.jsonl").read_text()
    names = [p["name"] for p in run.attempt.lines()[0]["params"]]
    assert names[0] == "0.weight"
    assert run.attempt.kind("p")[0]["buffers"][2] == "0" * 16
    assert len({s["batch"] for s in run.attempt.kind("s")}) == 6


def test_a_failure_of_the_recorder_stays_its_own(record, rt, tmp_path):
    # conditions.json cannot be written: its name is taken by a folder that appears before the first step.
    script = tmp_path / "blocked.py"
    script.write_text(
        "import os, runpy, sys\n"
        "os.makedirs(os.path.join(os.environ['REPRO_RUNTIME_ATTEMPT'], 'trace-0.jsonl'))\n"
        f"runpy.run_path({str(rt.programs / 'nan.py')!r})\n"
        "print('done')\n"
    )
    words = rt.record_words(tmp_path / "run", sys.executable, str(script))
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=rt.environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("recording stopped") == 1
    assert done.stdout.rstrip().endswith("done")
