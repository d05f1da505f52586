"""What is recorded of loops of every kind, to the last bit."""

import json
import re

import pytest

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("accumulate", [1, 4])
def test_plain_loop(record, tmp_path, accumulate):
    told = tmp_path / "told.json"
    attempt = record("plain_loop.py", str(accumulate), str(told)).attempt
    told = json.loads(told.read_text())
    steps = attempt.kind("s")
    assert [s["step"] for s in steps] == list(range(1, 21))
    assert {s["nb"] for s in steps} == {accumulate}
    assert [s["loss"] for s in steps] == [t["loss"].hex() for t in told]
    # Later ones are thinned: so short a step leaves no time to look at it.
    norms = [float.fromhex(s["gn"]) for s in steps[:16]]
    assert norms == pytest.approx([t["gn"] for t in told[:16]], rel=1e-13)
    changes = [(s["step"], s["lr"]) for s in steps if "lr" in s]
    assert changes == [(n, [told[n - 1]["lr"].hex()]) for n in (1, 6, 11, 16)]
    for name in ("batch", "fwd"):
        assert all(re.fullmatch("[0-9a-f]{16}", s[name]) for s in steps[:16])
        assert len({s[name] for s in steps[:16]}) == 16
    assert all("idx" not in s for s in steps)
    assert attempt.state["recorder"]["steps"] == 20
    assert attempt.lines()[-1]["k"] == "end"
    assert attempt.lines()[-1]["status"] == "ok"


def test_start_record_and_snapshots(record, tmp_path):
    attempt = record(
        "plain_loop.py", "1", str(tmp_path / "told.json"), options=("--snapshot-every", "12")
    ).attempt
    start = attempt.lines()[0]
    assert (start["k"], start["format"], start["rank"], start["world"]) == ("start", 2, 0, 1)
    assert [p["name"] for p in start["params"]] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "3.weight",
        "3.bias",
    ]
    assert start["params"][0] == {"name": "0.weight", "shape": [16, 8], "dtype": "float32"}
    assert [b["name"] for b in start["buffers"]] == [
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    (optimizer,) = start["optimizers"]
    assert (optimizer["class"], optimizer["params"]) == ("SGD", [0, 1, 2, 3, 4, 5])
    assert optimizer["groups"][0]["momentum"] == (0.9).hex()
    snapshots = attempt.kind("p")
    assert [p["step"] for p in snapshots] == [*range(11), 12, 16, 20]
    for snapshot in snapshots:
        lengths = [len(snapshot[key]) for key in ("weights", "buffers", "state", "sketch")]
        assert lengths == [6, 3, 6, 32]
        assert snapshot["nonfinite"] == 0
    # Step 0 is the state before the first forward: batch norm has not counted a batch yet.
    assert snapshots[0]["buffers"][2] == "0" * 16
    assert snapshots[1]["buffers"][2] != "0" * 16
    assert set(snapshots[0]["state"]) == {"0" * 16}


def test_conditions(record, tmp_path):
    env = {"OMP_NUM_THREADS": "1", "TORCH_API_KEY": "hush", "PYTHONHASHSEED": "5"}
    attempt = record("plain_loop.py", "1", str(tmp_path / "told.json"), env=env).attempt
    import torch

    values = attempt.json("conditions.json")["values"]
    assert values["torch.version"] == torch.__version__ == values["packages.torch"]
    assert (values["threads.intra"], values["env.OMP_NUM_THREADS"], values["hash_seed"]) == (1, "1", "5")
    assert values["device.type"] == "cpu"
    assert values["flags.deterministic_algorithms"] is False
    assert values["flags.autocast"] == "off"
    assert "env.TORCH_API_KEY" not in values
    assert "hush" not in json.dumps(values)
    assert not [k for k in values if "REPRO" in k]


def test_scaled_loss_is_recorded_unscaled_and_skips_are_told(record):
    run = record("scaler.py")
    losses = [line.split()[1] for line in run.out.splitlines()]
    steps, events = run.attempt.kind("s"), run.attempt.kind("x")
    assert [s["loss"] for s in steps] == losses[:2] + losses[3:]
    (skip,) = [e for e in events if e["what"] == "scaler-skip"]
    assert (skip["step"], skip["loss"]) == (3, losses[2])


def test_closure_inside_the_step(record):
    run = record("closure.py")
    told = [re.match(r"calls (\d+) sum (\S+)", line).groups() for line in run.out.splitlines()]
    steps = run.attempt.kind("s")
    assert [(str(s["nb"]), s["loss"]) for s in steps] == told
    assert run.attempt.kind("p")[-1]["state"][0] != "0" * 16


def test_two_optimizers_and_a_second_training(record):
    attempt = record("two_optimizers.py").attempt
    records = attempt.lines()
    starts = [n for n, r in enumerate(records) if r["k"] == "start"]
    assert len(starts) == 2
    duel, alone = records[: starts[1]], records[starts[1] :]
    steps = [r for r in duel if r["k"] == "s"]
    assert [(s["step"], s["opt"], s["nb"]) for s in steps] == [
        (n, (n - 1) % 2, 2 if n % 2 else 1) for n in range(1, 11)
    ]
    assert [o["class"] for o in duel[0]["optimizers"]] == ["Adam", "SGD"]
    assert {p["name"] for p in duel[0]["params"]} == {
        "Linear.weight",
        "Linear.bias",
        "Linear#2.weight",
        "Linear#2.bias",
    }
    assert duel[-1]["k"] == "end"
    assert [s["step"] for s in alone if s["k"] == "s"] == [1, 2, 3]
    assert [p["step"] for p in alone if p["k"] == "p"] == [0, 1, 2, 3]
    # Also the first step of the second training, after whatever thinning.
    assert all("fwd" in s and "batch" in s for s in records if s["k"] == "s")
    assert attempt.state["recorder"]["steps"] == 13


def test_nan_is_an_event_and_fails_a_gate(record):
    attempt = record("nan.py").attempt
    found = [(e["signal"], e["step"]) for e in attempt.kind("x") if e["what"] == "nonfinite"]
    assert ("loss", 4) in found
    assert attempt.kind("s")[3]["loss"] == "nan"
    assert attempt.kind("p")[-1]["nonfinite"] == 5
    assert attempt.gates()["finite"] == "failed"
    assert attempt.state["status"] == "ok"


def test_generators_are_told_of_once_they_are_touched(record):
    steps = record("generators.py").attempt.kind("s")
    assert [sorted(s["rng"]) for s in steps] == [["torch"]] * 2 + [["numpy", "torch"]] * 2
    import zlib

    import numpy as np

    words, position = np.random.RandomState(0).get_state()[1:3]
    state = words.astype("<u4").tobytes() + int(position).to_bytes(4, "little")
    assert steps[-1]["rng"]["numpy"] == f"{zlib.crc32(state):08x}"
