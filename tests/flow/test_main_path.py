"""From a project to a verdict, through a real engine."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Said, commit

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]


@pytest.fixture(scope="session")
def built(digits: Path, repro: Repro, base_image: str) -> dict[str, object]:
    said = repro(digits, "build", "--json", "--base", base_image)
    assert said.status == 0, said.out + said.err
    document: dict[str, object] = said.json
    return document


@pytest.fixture(scope="session")
def runs(digits: Path, repro: Repro, built: dict[str, object]) -> dict[str, dict[str, object]]:
    wishes = {
        "first": (),
        "again": (),
        "scalar": ("--env", "ATEN_CPU_CAPABILITY=default"),
        "lr": ("--set", "lr=0.01"),
    }
    done = {}
    for label, words in wishes.items():
        said = repro(digits, "run", "--json", "--label", label, *words)
        assert said.status == 0, said.out + said.err
        done[label] = said.json
    return done


def test_the_build_says_what_it_made(built: dict[str, object], digits: Path) -> None:
    assert built["bundle"]["path"].startswith(str(digits / ".repro"))  # type: ignore[index]
    assert built["image"]["bytes"] > 10**8  # type: ignore[index]
    assert {"snapshot", "lock", "image"} <= {step["name"] for step in built["steps"]}  # type: ignore[union-attr]


def test_building_again_does_nothing(
    built: dict[str, object], digits: Path, repro: Repro, base_image: str
) -> None:
    before = os.times()
    said = repro(digits, "build", "--json", "--base", base_image)
    after = os.times()
    assert said.json["cached"]
    assert said.json["bundle"] == built["bundle"]
    assert all(step["cached"] for step in said.json["steps"] if step["name"] in ("lock", "image"))
    own = after.children_user + after.children_system - before.children_user - before.children_system
    assert own < 2, "processor seconds of a build that has nothing to do"


def test_a_run_ends_with_metrics_and_memory(runs: dict[str, dict[str, object]]) -> None:
    first = runs["first"]
    assert first["status"] == "ok"
    assert first["metrics"]["eval_acc"] > 0.9  # type: ignore[index]
    assert first["peak"]
    assert {gate["name"]: gate["status"] for gate in first["gates"]}["checkpoint-reload"] == "passed"  # type: ignore[union-attr]


def test_the_record_is_the_callers_own(runs: dict[str, dict[str, object]]) -> None:
    path = Path(runs["first"]["run"]["path"])  # type: ignore[index]
    owners = {p.stat().st_uid for p in path.rglob("*")}
    assert owners == {os.getuid()}
    assert not (path / "attempt-1" / "work" / "train.py").exists()


def test_the_same_conditions_are_identical(digits: Path, repro: Repro, runs: object) -> None:
    said = repro(digits, "compare", "first", "again", "--json")
    assert (said.status, said.json["verdict"], said.json["numerics"]) == (0, "identical", "identical")
    assert said.json["first"] is None


def test_another_simd_level_is_within_rounding_and_the_outcome_of_one_run_stays_open(
    digits: Path, repro: Repro, runs: object
) -> None:
    said = repro(digits, "compare", "first", "scalar", "--json")
    assert (said.status, said.json["verdict"], said.json["outcome"]) == (0, "within-rounding", "inconclusive")
    assert (said.json["numerics"], said.json["basis"]) == ("within-rounding", "bound")
    assert (said.json["first"]["signal"], said.json["first"]["step"]) == ("init", 0)
    assert "env.ATEN_CPU_CAPABILITY" in {row["key"] for row in said.json["conditions_that_differ"]}
    assert next(row for row in said.json["metrics"] if row["name"] == "eval_acc")["margin"] == 0.01


def test_another_learning_rate_is_incomparable(digits: Path, repro: Repro, runs: object) -> None:
    said = repro(digits, "compare", "first", "lr", "--json")
    assert (said.status, said.json["verdict"]) == (7, "incomparable")
    named = [row["key"] for row in said.json["protocol_differences"] if row["class"] == "must-equal"]
    assert named == ["params.lr"]
    allowed = repro(digits, "compare", "first", "lr", "--allow", "params.lr", "--json")
    assert allowed.json["verdict"] == "inconclusive"


def test_a_one_line_edit_changes_one_small_layer(
    built: dict[str, object], digits: Path, tmp_path: Path, repro: Repro, base_image: str
) -> None:
    copy = tmp_path / "digits-cnn"
    shutil.copytree(digits, copy, ignore=shutil.ignore_patterns(".repro"))
    (copy / "train.py").write_text((copy / "train.py").read_text() + "# one more line\n")
    commit(copy)
    said = repro(copy, "build", "--json", "--base", base_image)
    assert said.status == 0, said.err
    old, new = built["image"]["layers"], said.json["image"]["layers"]  # type: ignore[index]
    assert len(old) == len(new)
    assert sum(a["digest"] != b["digest"] for a, b in zip(old, new, strict=True)) == 1
    added = [layer for layer in new if layer["new"]]
    assert [(layer["role"], layer["digest"]) for layer in added] == [("code", new[-1]["digest"])]
    assert added[0]["bytes"] < 200_000


def test_the_bundle_builds_and_runs_without_this_tool(built: dict[str, object], tmp_path: Path) -> None:
    bundle = built["bundle"]["path"]  # type: ignore[index]
    tag = "repro/plain-build-test"
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["docker", "build", "-q", "-t", tag, str(bundle)], check=True, capture_output=True)
    try:
        helped = subprocess.run(
            ["docker", "run", "--rm", tag, "--help"], capture_output=True, text=True, check=True
        )
        assert "--out" in helped.stdout
        subprocess.run(
            [
                "docker",
                "run",
                "--rm",
                "--network",
                "none",
                "-v",
                f"{out}:/out",
                tag,
                "run",
                "--set",
                "epochs=1",
            ],
            capture_output=True,
            check=True,
        )
    finally:
        subprocess.run(["docker", "image", "rm", "-f", tag], capture_output=True, check=False)
    result = json.loads((out / "result.json").read_text())
    assert (result["status"], result["attempt"]) == ("ok", 1)
    assert (out / "attempt-1" / "trace-0.jsonl").stat().st_size > 1000


def test_a_damaged_bundle_does_not_run(built: dict[str, object], tmp_path: Path, repro: Repro) -> None:
    copy = tmp_path / ".repro" / Path(built["bundle"]["path"]).name  # type: ignore[index]
    shutil.copytree(built["bundle"]["path"], copy, ignore=shutil.ignore_patterns("runs"))  # type: ignore[index]
    assert repro(tmp_path, "verify").status == 0
    (copy / "params.json").write_text((copy / "params.json").read_text().replace("0.05", "0.06"))
    said = repro(tmp_path, "verify", "--json")
    assert (said.status, said.json["error"]["code"]) == (1, "bundle-damaged")
    ran = repro(tmp_path, "run", "--json")
    assert (ran.status, ran.json["error"]["code"]) == (1, "bundle-damaged")
    assert not (copy / "runs").exists()


# What must be equal before a golden trace can be asked for bit equality.
SAME_MACHINE = ("cpu.model", "cpu.capability", "threads.intra", "torch.version", "torch.build")


def test_golden_traces_agree_where_the_conditions_do(
    digits: Path, repro: Repro, runs: dict[str, dict[str, object]]
) -> None:
    """A golden trace is comparable everywhere, and identical on a machine like the one it was made on."""
    goldens = sorted((ROOT / "bundles" / "golden" / "digits-cnn").iterdir())
    assert len(goldens) >= 2
    for golden in goldens:
        seen = json.loads((golden / "attempt-1" / "conditions.json").read_text())["values"]
        for label in ("first", "scalar"):
            run = Path(runs[label]["run"]["path"])  # type: ignore[index]
            here = json.loads((run / "attempt-1" / "conditions.json").read_text())["values"]
            said = repro(digits, "compare", str(golden), str(run), "--json")
            assert said.json["verdict"] in ("identical", "within-rounding", "inconclusive"), said.out
            if all(seen[key] == here[key] for key in SAME_MACHINE):
                assert said.json["verdict"] == "identical", said.out
