"""`repro sign`, `repro verify --key`, and what `repro run` says before anything runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from repro.bundle import Bundle
from repro.cli.ending import end
from repro.cli.main import cli

Lay = Callable[..., Bundle]
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPRO_KEYS", raising=False)

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = end(cli, list(words))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_from_a_new_key_to_a_checked_bundle(lay: Lay, say: Say) -> None:
    lay()
    status, out, _ = say("sign", "--new-key", "me")
    assert (status, "next: repro sign BUNDLE --key me" in out) == (0, True)
    assert say("verify", "one")[1].endswith("not signed\n")
    status, out, _ = say("sign", "one", "--key", "me", "--json")
    assert status == 0
    key = json.loads(out)["key"]["id"]
    assert f"signed by {key[:16]}, not checked" in say("verify", "one")[1]
    assert f"signed by {key[:16]}\n" in say("verify", "one", "--key", "me.pub")[1]
    document = json.loads(say("verify", "one", "--key", "me.pub", "--json")[1])
    assert document["signature"] == {"claimed": [key[:16]], "checked": [key]}


@pytest.mark.parametrize("words", [[], ["--key", "a", "--new-key", "b"], ["one", "--new-key", "b"]])
def test_words_that_do_not_go_together(say: Say, words: list[str]) -> None:
    assert say("sign", *words)[0] == 2


def test_keys_of_the_environment_refuse_before_anything_runs(
    lay: Lay, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = lay()
    before = sorted(bundle.path.rglob("*"))
    say("sign", "--new-key", "me")
    say("sign", "--new-key", "you")
    monkeypatch.setenv("REPRO_KEYS", "me.pub:you.pub")
    status, out, _ = say("run", "one", "--engine", "inplace", "--json")
    assert (status, json.loads(out)["error"]["code"]) == (1, "signature-missing")
    monkeypatch.delenv("REPRO_KEYS")
    say("sign", "one", "--key", "me")
    status, out, _ = say("run", "one", "--engine", "inplace", "--key", "you.pub", "--json")
    assert (status, json.loads(out)["error"]["code"]) == (1, "signature-untrusted")
    (bundle.path / "signature.json").unlink()
    assert sorted(bundle.path.rglob("*")) == before


def test_an_unsigned_bundle_is_named_as_such_before_it_runs(lay: Lay, say: Say) -> None:
    bundle = lay()
    (bundle.path / "code.tar").write_bytes(b"other code")
    status, _, err = say("run", "one", "--engine", "inplace")
    assert status in (1, 3)
    assert "bundle `one` is not signed" in err


def test_an_altered_manifest_is_named_with_and_without_keys(lay: Lay, say: Say) -> None:
    bundle = lay()
    say("sign", "--new-key", "me")
    say("sign", "one", "--key", "me")
    manifest = bundle.path / "bundle.json"
    manifest.write_text(manifest.read_text().replace("5" * 64, "7" * 64))
    for words in (
        ("verify", "one"),
        ("verify", "one", "--key", "me.pub"),
        ("run", "one", "--engine", "inplace"),
    ):
        status, out, err = say(*words)
        assert status == 1, words
        assert "is not the one that was signed" in out + err


def test_a_manifest_has_one_form(lay: Lay, say: Say) -> None:
    bundle = lay()
    manifest = bundle.path / "bundle.json"
    good = manifest.read_bytes()
    twice = good.replace(b'"schema": 1,', b'"schema": 1,\n "schema": 1,')
    for other in (good + b" ", json.dumps(json.loads(good)).encode(), twice, good.replace(b"\n", b"\r\n")):
        assert other != good
        manifest.write_bytes(other)
        status, _, err = say("verify", "one")
        assert (status, "bundle.json: form" in err) == (1, True)
