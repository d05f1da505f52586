"""Cousins of the public pairs: other kinds of causes, each answer written down before the tool was asked."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from repro import compare
from repro.compare.causes.rules import rules
from repro.model.verdict import Verdict

from . import recording

HOME = Path(__file__).parent.parent / "cases" / "diverge-cousins"
COUSINS: dict[str, dict[str, Any]] = tomllib.loads((HOME / "cases.toml").read_text("utf-8"))
# These few stand for the others where there is no time for all.
QUICK = (
    "seed_after_model",
    "adam_eps",
    "clip_forgotten",
    "bf16_in_eval",
    "cudnn_flags_and_lr",
    "tokenizer_file",
    "labels_by_hash_order",
    "library_in_evaluation",
    "validation_peeked_at",
    "summed_at_equal_micro_batches",
)
ALLOWED = ("params", "command", "environment", "inputs")


def project(folder: Path, cousin: dict[str, Any], side: str) -> Path:
    """The files of one side."""
    text = (HOME / "train.py").read_text("utf-8")
    for old, new in [*cousin.get("edit_both", []), *(cousin.get("edit", []) if side == "b" else [])]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "train.py").write_text(text, "utf-8")
    (folder / "params.json").write_text(json.dumps(cousin.get(side, {})), "utf-8")
    for name, content in cousin.get(f"files_{side}", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    return folder


def judged(tmp_path: Path, cousin: dict[str, Any]) -> Verdict:
    sides = []
    for name in ("a", "b"):
        env = {
            "OMP_NUM_THREADS": "1",
            **cousin.get("env", {"PYTHONHASHSEED": "0"}),
            **cousin.get(f"env_{name}", {}),
        }
        command = [sys.executable, "train.py", "--params", "params.json", "--out", "{out}"]
        run = recording.record(project(tmp_path / name, cousin, name), command, env)
        sides.append(recording.side(run))
    return compare.judge(*sides, allow=ALLOWED)


def marked(name: str) -> Any:
    marks = [pytest.mark.torch] if name in QUICK else [pytest.mark.torch, pytest.mark.slow]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [marked(name) for name in COUSINS])
def test_cousin(name: str, tmp_path: Path) -> None:
    cousin = COUSINS[name]
    verdict = judged(tmp_path, cousin)
    if verdict.first is None:
        assert "none" in cousin["signal"]
        assert verdict.cause["code"] == "none"
        return
    assert verdict.first.signal in cousin["signal"]
    if "step" in cousin:
        assert verdict.first.step == cousin["step"]
    assert verdict.cause["code"] == cousin["cause"]
    assert verdict.numerics in cousin.get("numerics", [verdict.numerics])
    assert verdict.cause["sure"] in cousin.get("sure", [verdict.cause["sure"]])


def test_answers_are_codes_of_rules() -> None:
    known = {rule.code for rule in rules()} | {"none"}
    assert {cousin["cause"] for cousin in COUSINS.values()} <= known
    assert len(COUSINS) >= 25
