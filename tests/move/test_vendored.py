"""A vendored bundle is built where nothing is: no image, no index, no registry, no network, no cache."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..engine.rig import private_engine  # noqa: TID252 - `tests` is no package
from .test_moved_run import _project, _repro, _run

pytestmark = [pytest.mark.docker, pytest.mark.versions, pytest.mark.net]


@pytest.fixture
def vendored(tmp_path: Path, base_image: str) -> Path:
    """The project of a vendored bundle."""
    project = _project(tmp_path / "sender" / "project")
    plain = _repro(project, "build", "--base", base_image)
    folder = Path(plain["bundle"]["path"])  # type: ignore[index]
    assert not (folder / "base").exists()
    kept = _repro(project, "build", "--base", base_image, "--vendor")
    assert kept["bundle"] == plain["bundle"]
    assert kept["image"]["config_digest"] == plain["image"]["config_digest"]  # type: ignore[index]
    assert (folder / "base" / "oci-layout").is_file()
    assert _repro(project, "verify")["damage"] == []
    return project


def test_it_is_built_and_runs_with_nothing_else(vendored: Path, tmp_path: Path) -> None:
    wanted = _run(vendored)
    (bundle,) = (vendored / ".repro").glob("*/bundle.json")
    there = tmp_path / "there"
    shutil.copytree(
        bundle.parent, there / ".repro" / bundle.parent.name, ignore=shutil.ignore_patterns("runs")
    )
    with private_engine("trixie") as host:
        env = {"DOCKER_HOST": host, "REPRO_CACHE": str(tmp_path / "cache")}
        assert _run(there, **env) == wanted
        assert _repro(there, "image", "verify", **env)["same_image"]


def test_docker_alone_builds_it_as_the_text_says(vendored: Path) -> None:
    (folder,) = (path.parent for path in (vendored / ".repro").glob("*/bundle.json"))
    said = (folder / "REPRODUCING.md").read_text()
    assert "tar -C base -cf - . | docker load" in said
    manifest = json.loads((folder / "bundle.json").read_text())
    with private_engine("trixie") as host:
        env = {"DOCKER_HOST": host}
        for line in ("tar -C base -cf - . | docker load", "docker build --network none -t by-hand ."):
            done = subprocess.run(
                ["sh", "-c", line],
                cwd=folder,
                env=os.environ | env,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        checked = _repro(vendored, "image", "verify", "--image", "by-hand", **env)
    assert not checked["same_image"]
    assert checked["tree_digest"] == manifest["image"]["tree"]
