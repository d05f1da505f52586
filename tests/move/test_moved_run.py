"""A project is built here; its file is all that another machine gets: an empty engine, and no network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..engine.rig import private_engine  # noqa: TID252 - `tests` is no package

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.docker, pytest.mark.versions, pytest.mark.net]

_PROGRAM = """
import argparse, json
import six

ap = argparse.ArgumentParser()
ap.add_argument("--params"); ap.add_argument("--out")
a = ap.parse_args()
rows = open("eval/a.csv").read().splitlines()
json.dump({"score": json.load(open(a.params))["lr"] * len(rows)}, open(a.out + "/metrics.json", "w"))
"""


def _repro(folder: Path, *words: str, **env: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "repro", *words, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _project(folder: Path) -> Path:
    (folder / "eval").mkdir(parents=True)
    (folder / "eval" / "a.csv").write_text("x,y\n1,2\n")
    (folder / "requirements.in").write_text("six==1.16.0\n")
    (folder / "params.json").write_text('{"lr": 0.5}\n')
    (folder / "train.py").write_text(_PROGRAM)
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


def _run(folder: Path, **env: str) -> dict[str, object]:
    """The metrics of a run of the only bundle there."""
    _repro(folder, "run", **env)
    (metrics,) = folder.glob(".repro/*/runs/*/attempt-1/out/metrics.json")
    found: dict[str, object] = json.loads(metrics.read_text())
    return found


ENGINES = {
    "classic": {"containerd_store": False},
    "containerd": {"containerd_store": True},
    "podman": {"program": "podman"},
}


@pytest.mark.parametrize("kind", ENGINES)
def test_it_runs_there_and_is_the_same_image(kind: str, tmp_path: Path, base_image: str) -> None:
    """Built on this machine's engine (20.10 in CI), run on others: the digests are those of the manifest."""
    sender = _project(tmp_path / "sender" / "project")
    receiver = tmp_path / "receiver"
    receiver.mkdir()
    built = _repro(sender, "build", "--base", base_image)
    wanted = _run(sender)
    made = _repro(sender, "export")
    with private_engine("trixie", **ENGINES[kind]) as host:  # type: ignore[arg-type]
        there = {"DOCKER_HOST": host, "REPRO_CACHE": str(tmp_path / "cache")}
        found = _repro(receiver, "import", str(made["path"]), **there)
        assert found["bundle"]["id"] == built["bundle"]["id"]  # type: ignore[index]
        assert _run(receiver, **there) == wanted
        image = found["image"]
        digest = "manifest_digest" if kind == "containerd" else "config_digest"
        assert image["id"] == built["image"][digest]  # type: ignore[index]
        checked = _repro(receiver, "image", "verify", **there)
        assert checked["same_image"]
        assert checked["tree_digest"] == built["image"]["tree_digest"]  # type: ignore[index]
