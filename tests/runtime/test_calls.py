"""What goes into models and comes out of them: in training, in evaluation, whichever way they are called."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def torch():
    import torch

    return torch


def test_micro_batches_of_the_same_samples_are_one_batch(record):
    once = record("calls.py", "micro", "1", out="a").attempt.kind("s")
    parts = record("calls.py", "micro", "4", out="b").attempt.kind("s")
    assert [(s["nb"], p["nb"]) for s, p in zip(once, parts, strict=True)] == [(1, 4)] * 3
    for name in ("batch", "fwd"):
        assert [s[name] for s in once] == [p[name] for p in parts]
        assert len({s[name] for s in once}) > 1 or name == "batch"


def test_evaluations(record):
    run = record("calls.py", "evaluate")
    told, margins = (json.loads(part + "]") for part in run.out.split("\n")[0].split("]")[:2])
    first, second, last = run.attempt.kind("e")
    assert [(e["step"], e["calls"], e["rows"], e["mode"]) for e in (first, second, last)] == [
        (1, 2, 20, "eval"),
        (2, 1, 4, "train"),
        (3, 2, 22, "mixed"),
    ]
    assert last["prediction"][-6:] == told
    assert [float.fromhex(m) for m in last["margin"][-6:]] == margins
    order = [(r["k"], r["step"]) for r in run.attempt.lines() if r["k"] in "se"]
    assert order == [("s", 1), ("e", 1), ("s", 2), ("e", 2), ("s", 3), ("e", 3)]


def test_an_evaluation_in_parts_reads_as_one(torch):
    from types import SimpleNamespace

    from repro.runtime.inside.bits.fingerprint import Fingerprints
    from repro.runtime.inside.bits.sight import Sight
    from repro.runtime.inside.bits.sums import Sums
    from repro.runtime.inside.record.evaluation import Evaluation

    parts = SimpleNamespace(torch=torch, sight=Sight(torch), prints=Fingerprints(torch), sums=Sums(torch))
    generator = torch.Generator().manual_seed(0)
    rows, scores = torch.randn(30_000, 7, generator=generator), torch.randn(30_000, 5, generator=generator)
    model = torch.nn.Linear(7, 5).eval()

    def told(size):
        evaluation = Evaluation(parts, 8, full=True)
        for given, result in zip(rows.split(size), scores.split(size), strict=True):
            evaluation.entered(model, ((given,), {}))
            evaluation.left(model, result)
        return evaluation.record()

    whole, pieces = told(30_000), told(700)
    for name in ("inputs", "outputs", "prediction", "margin", "rows", "mode"):
        assert whole[name] == pieces[name], name
    assert whole["prediction"] == scores.argmax(1).tolist()[:25_000]
    numbers = [[float.fromhex(x) for x in record["sketch"] + [record["norm2"]]] for record in (whole, pieces)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-9)
    assert len(json.dumps(whole)) < 1 << 20


def test_others_who_follow_tensors_do_not_see_us(record, rt, tmp_path):
    words = [sys.executable, str(rt.programs / "calls.py"), "traced"]
    alone = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, env=rt.environment(), check=True
    )
    run = record("calls.py", "traced")
    assert run.out == alone.stdout
    assert "recorder-stopped" not in (run.attempt.path / "trace-0.jsonl").read_text()
    # The scripted model is a training of its own, with its evaluation.
    assert [s["step"] for s in run.attempt.kind("s")] == [1, 2, 1]
    assert run.attempt.kind("e")[-1]["rows"] == 16


def test_gradients_are_told_where_a_snapshot_follows_its_step(record, tmp_path):
    snapshots = record("plain_loop.py", "1", str(tmp_path / "told.json")).attempt.kind("p")
    assert "grads" not in snapshots[0]
    assert all(len(p["grads"]) == 6 and "none" not in p["grads"] for p in snapshots[1:-1])
    # The last one is made at the end, when the program may have set gradients to zero.
    assert snapshots[-1]["step"] == 20
    assert "grads" not in snapshots[-1]
