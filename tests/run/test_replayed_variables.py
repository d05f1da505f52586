"""A replay is given the variables of its run; secrets, which the record lacks, must be given again."""

import json
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.pipeline.replay import _Host, _options
from repro.run import RunOptions


@pytest.fixture
def run(tmp_path: Path) -> Path:
    attempt = tmp_path / "a-run" / "attempt-1"
    attempt.mkdir(parents=True)
    given = {"HF_TOKEN": "****", "OMP_NUM_THREADS": "2"}
    document = {"schema": 1, "attempt": 1, "status": "ok", "environment": given}
    (attempt / "run.json").write_text(json.dumps(document))
    return attempt.parent


def test_secrets_are_asked_for(run: Path) -> None:
    with pytest.raises(ReproError) as caught:
        _options(run, _Host(), RunOptions())
    assert caught.value.code == "replay-variables"
    assert caught.value.found == ("HF_TOKEN",)


def test_what_is_given_again_is_used(run: Path) -> None:
    made = _options(run, _Host(), RunOptions(env={"HF_TOKEN": "swordfish"}))
    assert made.env == {"HF_TOKEN": "swordfish", "OMP_NUM_THREADS": "2"}
