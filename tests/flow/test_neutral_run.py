"""The same program with and without the recorder."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Said

pytestmark = [pytest.mark.net]
Repro = Callable[..., Said]
WORDS = ("--engine", "inplace", "--prove-neutral", "--json")


def test_a_training_is_the_same_and_its_clock_is_left_out(
    training: Path, trained_bundle: Path, repro: Repro
) -> None:
    said = repro(training, "run", str(trained_bundle), *WORDS)
    assert said.status == 0, said.out + said.err
    found = said.json["neutral"]
    files = {row["name"]: row for row in found["files"]}
    assert files["out/net.pt"]["compared"] > 4
    assert not any(row["differ"] for row in found["files"])
    assert files["out/metrics.json"]["unrepeatable"] == ["seconds"]
    plain = json.loads((Path(found["path"]) / "unrecorded" / "attempt-1" / "run.json").read_text())
    assert plain["recorder"]["loaded"] is False


def test_a_program_that_does_not_repeat_is_told_apart(
    training: Path, trained_bundle: Path, repro: Repro
) -> None:
    said = repro(training, "run", str(trained_bundle), *WORDS, "--set", "shaky=1")
    assert (said.status, said.json["neutral"]["answer"]) == (6, "unknown")
    assert "does not repeat" in said.json["neutral"]["why"]


def test_a_failing_program_is_compared_as_well(training: Path, trained_bundle: Path, repro: Repro) -> None:
    said = repro(training, "run", str(trained_bundle), *WORDS, "--set", "fail=1")
    assert said.status == 0, said.out + said.err


def test_a_program_that_leaves_nothing_is_no_proof(tiny: Path, tmp_path: Path, repro: Repro) -> None:
    built = repro(tiny, "build", "--engine", "inplace", "--json", "--set", "fail=3")
    said = repro(tiny, "run", built.json["bundle"]["path"], *WORDS)
    assert (said.status, said.json["neutral"]["answer"]) == (6, "unknown")
