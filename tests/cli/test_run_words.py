"""Words of `repro run`, `record`, `compare` and `replay` that do not go together are refused."""

import pytest

from repro.cli.ending import end
from repro.cli.main import cli


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--make-reference", "--against", "reference"), "one at a time"),
        (("run", "--make-reference", "--repeat", "3"), "one at a time"),
        (("run", "--stop-on", "diverged"), "--stop-on needs --against"),
        (("run", "--make-reference", "--set", "lr=1"), "goes without"),
        (("run", "--make-reference", "--no-seed-checkpoint"), "goes without"),
        (("run", "--make-reference", "--members", "2"), "at least 3"),
        (("run", "--repeat", "-1"), "above 0"),
        (("run", "--make-reference", "--reference-limit", "nan"), "above 0"),
        (("record", "--out", "x", "--dense", "0", "--", "true"), "from 1 on"),
        (("record", "--out", "x", "--save-state", "a", "--", "true"), "from 0 on"),
        (("record", "--out", "x", "--perturb", "0", "--", "true"), "--perturb"),
        (("compare", "a", "b", "c", "--dense", "d", "e"), "one RUN"),
        (("replay", "--step", "-1"), "above 0"),
    ],
)
def test_they_are_usage_errors(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert end(cli, list(words)) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("text", ["", "1,,2", "0,1", "1;2", "-1"])
def test_dense_steps_are_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert end(cli, ["run", "--make-reference", "--dense", text]) == 2
    assert "--dense takes whole numbers" in capsys.readouterr().err
