"""Single steps run again from the reference's states, and compared module by module."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Said

pytestmark = [pytest.mark.net]
Repro = Callable[..., Said]
INPLACE = ("--engine", "inplace")


def test_a_replay_here_finds_nothing(training: Path, trained_bundle: Path, repro: Repro) -> None:
    said = repro(training, "replay", str(trained_bundle), *INPLACE, "--json")
    assert said.status == 0, said.err
    assert (said.json["answer"], said.json["origin"]) == ("rounding", None)
    assert said.json["steps"] == [1, 2, 4, 8, 16]


def test_the_origin_is_named_and_what_it_propagates_to_is_not(
    training: Path, trained_bundle: Path, repro: Repro
) -> None:
    said = repro(
        training, "replay", str(trained_bundle), *INPLACE, "--env", "COARSE=1", "--step", "6", "--json"
    )
    assert said.status == 1, said.err
    assert said.json["steps"] == [4]
    origin = said.json["origin"]
    assert (origin["module"], origin["kind"], origin["phase"]) == ("second", "precision", "forward")
    assert {row["module"] for row in said.json["rows"] if row["kind"] != "propagated"} == {"second"}


def test_a_run_is_replayed_under_its_own_conditions(
    training: Path, trained_bundle: Path, repro: Repro
) -> None:
    words = ("--env", "COARSE=1", "--label", "rough")
    assert repro(training, "run", str(trained_bundle), *INPLACE, *words).status == 0
    said = repro(training, "replay", "rough", "--json")
    assert (said.status, said.json["steps"]) == (1, [1]), said.err
    run = Path(said.json["path"]).parent
    assert json.loads((run / "replay" / "attempt-1" / "run.json").read_text())["environment"] == {
        "COARSE": "1"
    }
    judged = repro(training, "compare", "reference", "rough", "--json").json
    assert judged["first"]["module"] == "second"
    pinned = repro(training, "replay", "rough", "--env", "COARSE=", "--json")
    assert (pinned.status, pinned.json["answer"]) == (0, "rounding")


def test_a_step_before_the_first_state_is_refused(training: Path, trained_bundle: Path, repro: Repro) -> None:
    said = repro(training, "replay", str(trained_bundle), *INPLACE, "--step", "-3")
    assert said.status == 2


def test_a_run_outside_a_bundle_is_refused(training: Path, tmp_path: Path, repro: Repro) -> None:
    run = tmp_path / "run"
    assert repro(training, "record", "--out", str(run), "--", sys.executable, "-c", "print(1)").status == 0
    said = repro(training, "replay", str(run), "--json")
    assert (said.status, said.json["error"]["code"]) == (2, "replay-no-bundle")
