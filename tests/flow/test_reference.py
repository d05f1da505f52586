"""The reference of a bundle: made in parts, gone on with, and where every later run starts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Said

pytestmark = [pytest.mark.net]
Repro = Callable[..., Said]
INPLACE = ("--engine", "inplace")


def record(run: Path) -> Any:
    return json.loads((run / "attempt-1" / "run.json").read_text())


def states_of(run: Path) -> dict[int, list[str]]:
    lines = (run / "attempt-1" / "trace-0.jsonl").read_text().splitlines()
    return {row["step"]: row["weights"] for row in map(json.loads, lines) if row["k"] == "p"}


@pytest.fixture
def own(trained_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the bundle with its reference, to be changed."""
    return Path(shutil.copytree(trained_bundle, tmp_path / trained_bundle.name, symlinks=True))


def test_a_reference_has_its_parts(trained_bundle: Path) -> None:
    folder = trained_bundle / "reference"
    told = json.loads((folder / "reference.json").read_text())
    assert (told["members"], told["steps"], told["repeatable"]) == ([1, 2, 3], 40, True)
    assert (told["dense"], told["states"]) == ([1, 2, 4, 8, 16], [0, 1, 3, 7, 15])
    stored = {path.name for path in (folder / "dense" / "attempt-1" / "states").iterdir()}
    assert stored == {f"step-{n}.safetensors" for n in told["states"]}
    assert [record(folder / f"member-{n}")["plan"]["perturb"] for n in (1, 2, 3)] == [1, 2, 3]
    assert {record(folder / f"member-{n}")["plan"]["seed"] for n in (1, 2, 3)} == {told["seed"]}
    assert not any(path.name.startswith(".") for path in folder.iterdir())


def test_members_leave_the_run_at_once_and_dense_steps_never(trained_bundle: Path) -> None:
    run, folder = states_of(trained_bundle / "reference" / "run"), trained_bundle / "reference"
    moved = states_of(folder / "member-1")
    assert moved[0] != run[0]
    assert moved[1] != states_of(folder / "member-2")[1]
    dense = states_of(folder / "dense")
    assert all(dense[step] == run[step] for step in dense.keys() & run.keys())


def test_the_bundle_is_still_as_packed_and_shows_its_reference(
    training: Path, trained_bundle: Path, repro: Repro
) -> None:
    assert repro(training, "verify", str(trained_bundle)).status == 0
    assert "  reference" in repro(training, "show").out.splitlines()
    assert repro(training, "show", "reference", "--json").json["complete"] is True


def test_making_it_again_keeps_what_is_whole(own: Path, training: Path, repro: Repro) -> None:
    started = record(own / "reference" / "member-1")["started"]
    shutil.rmtree(own / "reference" / "member-2")
    (own / "reference" / "dense" / "attempt-1" / "states" / "step-3.safetensors").unlink()
    (own / "reference" / "reference.json").unlink()
    assert repro(training, "run", str(own), *INPLACE, "--against", "reference").status == 2
    said = repro(training, "run", str(own), *INPLACE, "--make-reference", "--json")
    assert said.status == 0, said.err
    assert said.json["reference"]["members"] == [1, 2, 3]
    assert record(own / "reference" / "member-1")["started"] == started
    assert (own / "reference" / "dense" / "attempt-1" / "states" / "step-3.safetensors").is_file()
    lines = [line for line in said.err.splitlines() if line.strip().startswith("ok reference")]
    assert {line.split()[2]: "cached" in line for line in lines} == {
        "run": True, "member-1": True, "member-2": False, "member-3": True, "dense": False,
    }  # fmt: skip


def test_states_above_the_limit_leave_step_one(own: Path, training: Path, repro: Repro) -> None:
    words = ("--make-reference", "--reference-limit", "0.000005", "--json")
    said = repro(training, "run", str(own), *INPLACE, *words)
    assert said.status == 0, said.err
    assert said.json["reference"]["dense"] == [1]
    assert "only step 1 is dense" in said.err


def test_every_later_run_starts_from_the_seed_checkpoint(own: Path, training: Path, repro: Repro) -> None:
    digest = json.loads((own / "seed" / "state.json").read_text())["sha256"]
    for words, seed in (((), digest), (("--no-seed-checkpoint",), "")):
        said = repro(training, "run", str(own), *INPLACE, "--json", *words)
        assert said.status == 0, said.err
        assert record(Path(said.json["run"]["path"])).get("plan", {}).get("seed", "") == seed


def test_another_seed_gets_a_checkpoint_of_its_own(own: Path, training: Path, repro: Repro) -> None:
    first = repro(training, "run", str(own), *INPLACE, "--json", "--set", "seed=2")
    assert first.status == 0, first.err
    kept = json.loads((own / "seed" / "seed-2.json").read_text())
    assert kept["run"] == first.json["run"]["id"]
    again = repro(training, "run", str(own), *INPLACE, "--json", "--set", "seed=2")
    assert record(Path(again.json["run"]["path"]))["plan"]["seed"] == kept["sha256"]
    assert repro(training, "compare", first.json["run"]["path"], again.json["run"]["path"]).status == 0


def test_a_model_that_does_not_fit_is_refused(own: Path, training: Path, repro: Repro) -> None:
    said = repro(training, "run", str(own), *INPLACE, "--json", "--set", "width=8")
    assert (said.status, said.json["error"]["code"]) == (3, "seed-refused")
    assert any("--no-seed-checkpoint" in line for line in said.json["error"]["try"])
    words = ("--set", "width=8", "--no-seed-checkpoint")
    assert repro(training, "run", str(own), *INPLACE, "--json", *words).status == 0


def test_a_changed_seed_checkpoint_is_refused(own: Path, training: Path, repro: Repro) -> None:
    file = own / "seed" / "state.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.unlink()  # it shares its bytes with the reference run's own state
    file.write_bytes(data)
    said = repro(training, "run", str(own), *INPLACE, "--json")
    assert (said.status, said.json["error"]["code"]) == (5, "seed-damaged")


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": 1}', b"\xff\xfe"])
def test_a_damaged_record_is_said(own: Path, training: Path, repro: Repro, content: bytes) -> None:
    (own / "reference" / "reference.json").write_bytes(content)
    said = repro(training, "run", str(own), *INPLACE, "--against", "reference", "--json")
    assert (said.status, said.json["error"]["code"]) == (5, "reference-unreadable")


def test_a_program_without_torch_has_no_reference(tiny: Path, repro: Repro) -> None:
    built = repro(tiny, "build", *INPLACE, "--json")
    said = repro(tiny, "run", built.json["bundle"]["path"], *INPLACE, "--make-reference", "--json")
    assert (said.status, said.json["error"]["code"]) == (2, "reference-no-steps")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_making_is_gone_on_with(
    own: Path, training: Path, repro: Repro, shared_cache: dict[str, str], number: signal.Signals
) -> None:
    shutil.rmtree(own / "reference" / "member-3")
    shutil.rmtree(own / "reference" / "dense")
    process = subprocess.Popen(
        [sys.executable, "-m", "repro", "run", str(own), *INPLACE, "--make-reference"],
        cwd=training,
        env={**os.environ, **shared_cache, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not list((own / "reference").glob(".part-*/attempt-1")):
        time.sleep(0.05)
    process.send_signal(number)
    process.wait()
    assert not (own / "reference" / "reference.json").exists()
    said = repro(training, "run", str(own), *INPLACE, "--make-reference", "--json")
    assert said.status == 0, said.err
    assert not any(path.name.startswith(".part") for path in (own / "reference").iterdir())
    assert repro(training, "verify", str(own)).status == 0
