"""A project without torch, in a container and in place; failures of the contained program; kills."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Said

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]


@pytest.fixture(scope="session")
def bundle(tiny: Path, repro: Repro, base_image: str) -> str:
    said = repro(tiny, "build", "--json", "--base", base_image)
    assert said.status == 0, said.out + said.err
    return str(said.json["bundle"]["path"])


@pytest.mark.parametrize("engine", ["docker", "inplace"])
def test_a_project_without_torch_runs_and_says_so(tiny: Path, repro: Repro, bundle: str, engine: str) -> None:
    said = repro(tiny, "run", bundle, "--engine", engine, "--label", f"no-torch-{engine}", "--json")
    assert said.status == 0, said.out + said.err
    assert said.json["metrics"] == {"score": 1.0}
    record = json.loads((Path(said.json["run"]["path"]) / "attempt-1" / "run.json").read_text())
    assert record["engine"] == engine
    assert {key: record["recorder"][key] for key in ("loaded", "torch", "steps")} == {
        "loaded": True,
        "torch": False,
        "steps": 0,
    }


def test_both_engines_left_the_same_kind_of_record(tiny: Path, repro: Repro, bundle: str) -> None:
    for engine in ("docker", "inplace"):
        assert repro(tiny, "run", bundle, "--engine", engine, "--label", f"pair-{engine}", "-q").status == 0
    said = repro(tiny, "compare", "pair-docker", "pair-inplace", "--json")
    assert said.json["verdict"] != "incomparable"
    assert next(row for row in said.json["metrics"] if row["name"] == "score")["difference"] in (
        "0x0.0p+0",
        0,
    )


def test_the_status_of_a_failed_program_is_passed_on(tiny: Path, repro: Repro, bundle: str) -> None:
    said = repro(tiny, "run", bundle, "--set", "fail=7", "--json")
    assert said.status == 4
    assert said.json["error"]["code"] == "run-program-failed"
    assert "exit status 7" in said.json["error"]["message"]
    assert (said.json["status"], said.json["exit_code"]) == ("failed", 7)
    assert repro(tiny, "show", said.json["run"]["path"], "--json").json["status"] == "failed"
    assert any("trained with 0.5" in line for line in said.json["error"]["found"])


def test_an_unknown_parameter_is_refused(tiny: Path, repro: Repro, bundle: str) -> None:
    said = repro(tiny, "run", bundle, "--set", "lrr=7", "--json")
    assert said.status == 2
    assert "lrr" in said.out + said.err


def test_order_number_and_host_stay_out_of_the_image(tiny: Path, repro: Repro, bundle: str) -> None:
    said = repro(tiny, "run", bundle, "--order", "R-20991", "--label", "ordered", "--json")
    path = Path(said.json["run"]["path"])
    assert "R-20991" in (path / "host.json").read_text()
    inside = "".join(p.read_text(errors="replace") for p in (path / "attempt-1").glob("*.json*"))
    assert "R-20991" not in inside
    assert os.uname().nodename not in inside


def test_a_command_that_sets_pythonpath_is_still_recorded(
    tiny: Path, repro: Repro, bundle: str, tmp_path: Path
) -> None:
    tag = json.loads((Path(bundle) / "image.json").read_text())["tag"]
    command = "PYTHONPATH=elsewhere python train.py --params params.json --out ."
    done = subprocess.run(
        ["docker", "run", "--rm", "-v", f"{tmp_path}:/out", tag, "run", "--", "sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "attempt-1" / "run.json").read_text())["recorder"]["loaded"] is True


@pytest.mark.parametrize("after", [0.3, 1.0, 2.0])
def test_a_killed_build_leaves_nothing_that_looks_whole(
    tiny: Path, repro: Repro, shared_cache: dict[str, str], base_image: str, tmp_path: Path, after: float
) -> None:
    out = tmp_path / "bundles"
    argv = [
        sys.executable,
        "-m",
        "repro",
        "build",
        "--json",
        "--base",
        base_image,
        "-o",
        str(out),
        "--set",
        "lr=0.25",
    ]
    build = subprocess.Popen(
        argv,
        cwd=tiny,
        env={**os.environ, **shared_cache, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    build.send_signal(signal.SIGKILL)
    build.wait()
    whole = [p for p in out.glob("*") if not p.name.startswith(".")] if out.exists() else []
    for path in whole:
        assert repro(tiny, "verify", str(path)).status == 0
    said = repro(tiny, "build", "--json", "--base", base_image, "-o", str(out), "--set", "lr=0.25")
    assert said.status == 0, said.err
    assert [p.name for p in out.iterdir() if p.name.startswith(".part-")] == []
    assert repro(tiny, "verify", said.json["bundle"]["path"]).status == 0
