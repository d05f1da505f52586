"""Several runs of one label, a seed each."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Said

pytestmark = [pytest.mark.net]
Repro = Callable[..., Said]
INPLACE = ("--engine", "inplace", "--json")


def test_a_series_is_gone_on_with(training: Path, trained_bundle: Path, repro: Repro) -> None:
    words = ("run", str(trained_bundle), *INPLACE, "--label", "series")
    broken = repro(training, *words, "--seeds", "1,2,3", "--set", "fail=2")
    assert broken.status == 4
    assert "1 of 3 runs of the series are whole" in broken.json["error"]["done"]
    whole = repro(training, *words, "--repeat", "2", "--label", "group")
    assert [row["seed"] for row in whole.json["runs"]] == ["1", "2"]
    more = repro(training, *words, "--repeat", "3", "--label", "group")
    assert [row["cached"] for row in more.json["runs"]] == [True, True, False]
    overrides = [
        json.loads((Path(row["path"]) / "attempt-1" / "run.json").read_text())["overrides"]
        for row in more.json["runs"]
    ]
    assert overrides == [{}, {"seed": "2"}, {"seed": "3"}]


@pytest.mark.parametrize("words", [("--repeat", "2", "--seeds", "1,2,3"), ("--seeds", "4,4")])
def test_seeds_that_do_not_fit_are_refused(
    training: Path, trained_bundle: Path, repro: Repro, words: tuple[str, ...]
) -> None:
    said = repro(training, "run", str(trained_bundle), *INPLACE, *words)
    assert (said.status, said.json["error"]["code"]) == (2, "repeat-seeds")


def test_a_bundle_that_names_no_seed_says_so(tiny: Path, repro: Repro) -> None:
    built = repro(tiny, "build", *INPLACE)
    said = repro(tiny, "run", built.json["bundle"]["path"], *INPLACE, "--seeds", "1,2")
    assert (said.status, said.json["error"]["code"]) == (2, "repeat-no-seed")
