"""What a program left, in pieces: archives by member, tables by value, texts by line."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from repro.trace.outputs import outputs


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    for name in ("out", "work/deep"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def archive(**members: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return made.getvalue()


def test_each_form_has_its_pieces(attempt: Path) -> None:
    (attempt / "out" / "net.pt").write_bytes(archive(**{"net/data/0": b"12", "net/data.pkl": b"p"}))
    (attempt / "out" / "m.json").write_text(json.dumps({"a": {"b": [1, None]}, "c": {}}))
    (attempt / "work" / "deep" / "x.bin").write_bytes(b"\xff\x00")
    (attempt / "work" / "link").symlink_to("deep/x.bin")
    (attempt / "log.txt").write_text("one\ntwo\n")
    found = outputs(attempt)
    assert list(found["out/net.pt"]) == ["tensor net/data/0", "net/data.pkl"]
    assert found["out/m.json"] == {"a.b.0": "1", "a.b.1": "None", "c": "{}"}
    assert list(found["work/deep/x.bin"]) == ["whole"]
    assert found["work/link"] == {"whole": "link to deep/x.bin"}
    assert found["log.txt"] == {"line 1": "one", "line 2": "two"}


def test_a_broken_table_is_a_text_and_a_broken_archive_is_whole(attempt: Path) -> None:
    (attempt / "out" / "m.json").write_text('{"a": ')
    data = bytearray(archive(**{"net/data/0": b"1" * 100}))
    data[40] ^= 0xFF
    (attempt / "out" / "net.pt").write_bytes(data)
    found = outputs(attempt)
    assert found["out/m.json"] == {"line 1": '{"a": '}
    assert "whole" in found["out/net.pt"]


def test_an_attempt_that_left_nothing_has_none(tmp_path: Path) -> None:
    assert outputs(tmp_path) == {}
