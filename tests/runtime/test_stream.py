"""The sample stream, checkpoints, resume."""

import pytest

pytestmark = pytest.mark.torch


def indices(attempt):
    return [s["idx"] for s in attempt.kind("s")]


def test_workers_do_not_change_what_is_recorded(record, tmp_path):
    alone = record("loader_cnn.py", str(tmp_path), "0", "2", out="a").attempt
    helped = record("loader_cnn.py", str(tmp_path), "2", "2", out="b").attempt
    assert len(indices(alone)) == 12
    assert indices(alone) == indices(helped)
    assert len(set(indices(alone))) == 12
    assert [s["batch"] for s in alone.kind("s")] == [s["batch"] for s in helped.kind("s")]
    assert not list(helped.path.glob("trace-0.*.jsonl"))


def test_same_run_twice_is_the_same_record(record, tmp_path):
    def told(out):
        steps = record("loader_cnn.py", str(tmp_path), "0", "2", out=out).attempt
        bare = [{k: v for k, v in s.items() if k != "dt"} for s in steps.kind("s")]
        return bare, steps.kind("p")

    first = told("a")
    assert first == told("b")
    # Neither Python's generator nor NumPy's was seeded or used: they have no part in this.
    assert set(first[0][-1]["rng"]) == {"torch"}


def test_checkpoints_are_followed_through_renames(record, tmp_path):
    attempt = record("loader_cnn.py", "{out}", "0", "2").attempt
    rows = attempt.json("checkpoints.json")["checkpoints"]
    assert [(r["op"], r["path"], r["step"]) for r in rows] == [
        ("save", "out/epoch1.pt", 6),
        ("save", "out/epoch2.pt", 12),
    ]
    assert all(r["sha256"] and r["bytes"] and r["fingerprint"] for r in rows)
    assert attempt.gates()["checkpoint-reload"] == "passed"
    assert [c["step"] for c in attempt.kind("c")] == [6, 12]


def test_resume_aligns_by_fingerprint(record, tmp_path):
    whole = record("loader_cnn.py", str(tmp_path), "0", "4", out="whole").attempt
    rest = record("loader_cnn.py", str(tmp_path), "0", "4", str(tmp_path / "epoch2.pt"), out="rest").attempt
    first = rest.kind("p")[0]
    (saved,) = [p for p in whole.kind("p") if p["step"] == 12]
    assert first["step"] == 0
    assert [first[k] for k in ("weights", "buffers", "state")] == [
        saved[k] for k in ("weights", "buffers", "state")
    ]
    load = [c for c in rest.kind("c") if c["op"] == "load"]
    (save,) = [c for c in whole.kind("c") if c["step"] == 12]
    assert load[0]["fingerprint"] == save["fingerprint"]
    losses = [s["loss"] for s in whole.kind("s")]
    assert [s["loss"] for s in rest.kind("s")] == losses[12:]


def test_second_process_of_the_same_attempt_adds_a_segment(record, rt, tmp_path):
    import sys

    script = tmp_path / "twice.sh"
    one = f"{sys.executable} {rt.programs / 'nan.py'}"
    script.write_text(f"{one}\n{one}\n{one} & {one} & wait\n")
    script.chmod(0o755)
    import subprocess

    words = rt.record_words(tmp_path / "run", "sh", str(script))
    subprocess.run(words, check=True, cwd=tmp_path, env=rt.environment(), capture_output=True)
    attempt = rt.Attempt(tmp_path / "run")
    kinds = [
        r["k"] for name in sorted(p.name for p in attempt.path.glob("trace-*")) for r in attempt.lines(name)
    ]
    assert kinds.count("start") == kinds.count("end") == 4
    assert attempt.state["recorder"]["steps"] == 24


def test_a_name_that_holds_an_address_is_no_name():
    """A sampler may hand out objects of its own; their default repr is another one in every run."""
    from repro.runtime.inside.hooks.stream import _words

    class Key:
        pass

    class Named(Key):
        def __repr__(self):
            return "Named(7)"

    assert _words([3, 4]) == b"3,4,"
    assert _words([Named(), Named()]) == b"Named(7),Named(7),"
    assert _words([Key()]) is None
    assert _words([(1, Key())]) is None
    assert _words([3, None]) is None
    assert _words(["0x7ffe12345678.png"]) == b"'0x7ffe12345678.png',"


def test_without_numbers_the_content_still_tells(record, tmp_path):
    program = tmp_path / "keys.py"
    program.write_text(KEYS)
    first, second = (record(str(program), out=out).attempt.kind("s") for out in ("a", "b"))
    assert all("idx" not in s for s in first + second)
    assert [s["batch"] for s in first] == [s["batch"] for s in second]
    assert len({s["batch"] for s in first}) == 4


KEYS = """
import torch
from torch.utils.data import DataLoader, Dataset
class Key:
    def __init__(self, number):
        self.number = number
class Rows(Dataset):
    def __getitem__(self, key):
        return torch.full((3,), float(key.number))
keys = [Key(n) for n in range(8)]
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in DataLoader(Rows(), batch_size=2, sampler=keys):
    optimizer.zero_grad()
    model(rows).sum().backward()
    optimizer.step()
"""
