"""A reference for a plain script, without a bundle: states, noise members, a replay, by `repro record`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Said

pytestmark = [pytest.mark.torch]
Repro = Callable[..., Said]


@pytest.fixture(scope="module")
def recorded(training: Path, repro: Repro, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the training as a plain script: ref, m1 to m3, dense, and rough with its replay."""
    folder = tmp_path_factory.mktemp("plain")
    params = folder / "params.json"
    params.write_text((training / "params.json").read_text())
    state = folder / "ref" / "attempt-1" / "states"

    def record(name: str, *words: str, coarse: bool = False) -> None:
        script = (sys.executable, str(training / "train.py"), "--params", str(params), "--out", "{out}")
        command = ("env", "COARSE=1", *script) if coarse else script
        said = repro(training, "record", "--out", str(folder / name), *words, "--", *command)
        assert said.status == 0, said.out + said.err

    seed = ("--seed-state", str(state / "step-0.safetensors"))
    record("ref", "--save-state", "0,3")
    for number in ("1", "2", "3"):
        record(f"m{number}", *seed, "--perturb", number, "--stop-after", "16")
    record("dense", *seed, "--dense", "1,4", "--stop-after", "4")
    record("rough", *seed, coarse=True)
    record("replay", *seed, "--dense", "1,4", "--sync", str(state), "--stop-after", "4", coarse=True)
    return folder


def test_members_and_dense_steps_are_named_by_hand(training: Path, recorded: Path, repro: Repro) -> None:
    runs = {name: str(recorded / name) for name in ("ref", "rough", "m1", "m2", "m3", "dense", "replay")}
    members = [word for name in ("m1", "m2", "m3") for word in ("--members", runs[name])]
    bare = repro(training, "compare", runs["ref"], runs["rough"], "--allow", "command", "--json")
    assert bare.json["first"]["module"] == ""
    words = ("--allow", "command", *members, "--dense", runs["dense"], runs["replay"], "--json")
    said = repro(training, "compare", runs["ref"], runs["rough"], *words)
    assert said.json["numerics"] == "beyond-rounding"
    assert said.json["first"]["module"] == "second"


def test_members_are_no_whole_runs(recorded: Path) -> None:
    told = json.loads((recorded / "m1" / "attempt-1" / "run.json").read_text())
    assert (told["status"], told["plan"]["perturb"], told["plan"]["stop"]) == ("limited", 1, 16)
    assert not (recorded / "m1" / "result.json").exists()
