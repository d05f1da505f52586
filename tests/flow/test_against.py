"""A run beside the reference: 16 steps, a replay where they are outside, the training, watched."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Said, commit

pytestmark = [pytest.mark.net]
Repro = Callable[..., Said]
WORDS = ("--engine", "inplace", "--against", "reference", "--json")


def test_the_same_machine_is_identical(training: Path, trained_bundle: Path, repro: Repro) -> None:
    said = repro(training, "run", str(trained_bundle), *WORDS, "--label", "same")
    assert said.status == 0, said.err
    assert (said.json["verdict"]["verdict"], said.json["stopped"]) == ("identical", None)
    assert "steps 1 to 16" in said.err
    kept = json.loads(Path(said.json["kept"]).read_text())
    assert kept["verdict"] == "identical"


def test_coarse_inputs_end_it_before_the_training(training: Path, trained_bundle: Path, repro: Repro) -> None:
    words = ("--label", "coarse", "--env", "COARSE=1", "--stop-on", "beyond-rounding")
    said = repro(training, "run", str(trained_bundle), *WORDS, *words)
    assert said.status == 1, said.err
    assert said.json["first_numerics"] == "beyond-rounding"
    assert "the training was not started" in said.json["stopped"]
    assert "arises in second (Second, forward): precision" in said.err
    assert not list((trained_bundle / "runs").glob("*.coarse"))
    assert repro(training, "show", "coarse-first", "--json").json["status"] == "limited"
    judged = repro(training, "compare", "reference", "coarse-first", "--json").json
    assert judged["numerics"] == "beyond-rounding"


def test_coarse_inputs_are_told_and_the_training_goes_on(
    training: Path, trained_bundle: Path, repro: Repro
) -> None:
    said = repro(training, "run", str(trained_bundle), *WORDS, "--label", "on", "--env", "COARSE=1")
    assert said.json["status"] == "ok"
    assert said.json["verdict"]["numerics"] == "beyond-rounding"
    assert "arises in second" in said.err


def test_a_loss_that_explodes_ends_the_run(training: Path, trained_bundle: Path, repro: Repro) -> None:
    words = ("--set", "explode=20", "--set", "pause=0.1", "--set", "steps=2000", "--stop-on", "diverged")
    said = repro(training, "run", str(trained_bundle), *WORDS, "--label", "explodes", *words)
    assert said.status == 1, said.err
    assert (said.json["status"], said.json["first_numerics"]) == ("stopped", "within-rounding")
    assert said.json["stopped"].startswith("step 21: the loss is inf")
    steps = repro(training, "show", "explodes", "--json").json["steps"]
    assert 21 <= steps < 2000


def test_without_a_reference_it_is_said_how_to_make_one(tiny: Path, repro: Repro) -> None:
    built = repro(tiny, "build", "--engine", "inplace", "--json")
    said = repro(tiny, "run", built.json["bundle"]["path"], *WORDS)
    assert (said.status, said.json["error"]["code"]) == (2, "reference-missing")
    assert any("--make-reference" in line for line in said.json["error"]["try"])


@pytest.mark.docker
def test_a_container_is_stopped_and_replayed_as_well(
    training: Path, repro: Repro, base_image: str, tmp_path: Path
) -> None:
    own = commit(
        Path(shutil.copytree(training, tmp_path / "own", ignore=shutil.ignore_patterns(".repro", ".git")))
    )
    built = repro(own, "build", "--base", base_image, "--json")
    assert built.status == 0, built.err
    bundle = built.json["bundle"]["path"]
    made = repro(own, "run", bundle, "--make-reference", "--dense", "1,2")
    assert made.status == 0, made.err
    words = ("run", bundle, "--against", "reference", "--json")
    coarse = repro(own, *words, "--env", "COARSE=1", "--stop-on", "beyond-rounding")
    assert coarse.status == 1, coarse.err
    assert "arises in second (Second, forward): precision" in coarse.err
    slow = ("--set", "explode=20", "--set", "pause=0.1", "--set", "steps=2000", "--stop-on", "diverged")
    stopped = repro(own, *words, *slow)
    assert (stopped.status, stopped.json["status"]) == (1, "stopped"), stopped.err
    kept = (Path(bundle) / ".dockerignore").read_text().split()
    assert not {"!seed", "!reference"} & set(kept)
