"""A trace that grows: whole lines, each once, of the first training."""

import json
from pathlib import Path

import pytest

from repro.trace.tail import Tail


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "attempt-1").mkdir()
    path = tmp_path / "attempt-1" / "trace-0.jsonl"
    path.write_text(json.dumps({"k": "start", "format": 2}) + "\n")
    return path


def add(file: Path, text: str) -> None:
    with file.open("a") as out:
        out.write(text)


def line(step: int) -> str:
    return json.dumps({"k": "s", "step": step, "loss": "0x1p+0"}) + "\n"


def test_lines_come_once_and_only_when_whole(tmp_path: Path, file: Path) -> None:
    tail = Tail(tmp_path)
    add(file, line(1) + line(2)[:9])
    assert [record.step for record in tail.read()] == [1]
    assert list(tail.read()) == []
    add(file, line(2)[9:] + json.dumps({"k": "p", "step": 2}) + "\n" + line(3))
    assert [record.step for record in tail.read()] == [2, 2, 3]


def test_other_kinds_and_damage_are_passed_over(tmp_path: Path, file: Path) -> None:
    add(file, '{"k": "x", "what": "oom"}\n{"k": "s"}\n[1]\n\xff\n' + line(4))
    assert [record.step for record in Tail(tmp_path).read()] == [4]


def test_a_second_training_ends_it(tmp_path: Path, file: Path) -> None:
    tail = Tail(tmp_path)
    add(file, line(1) + json.dumps({"k": "start"}) + "\n" + line(1))
    assert [record.step for record in tail.read()] == [1]
    assert tail.over


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    tail = Tail(tmp_path)
    assert list(tail.read()) == []
    (tmp_path / "attempt-2").mkdir()
    assert list(tail.read()) == []
    (tmp_path / "attempt-2" / "trace-0.jsonl").write_text(line(1))
    assert [record.step for record in tail.read()] == [1]
