"""The main job as a user does it: real git, real pip, a real engine, the command line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_repro(folder: Path, *words: str, env: dict[str, str] | None = None) -> Said:
    """`repro` as its own process, with this checkout's code and the session's cache."""
    done = subprocess.run(
        [sys.executable, "-m", "repro", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def git(folder: Path, *words: str) -> str:
    """A git command with an author of its own."""
    argv = ["git", "-c", "user.name=Tester", "-c", "user.email=tester@example.invalid", *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout


def commit(folder: Path) -> Path:
    """Make a folder a repository with one more commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change")
    return folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache for the whole path, so that wheels are fetched once."""
    return {"REPRO_CACHE": str(tmp_path_factory.mktemp("flow-cache"))}


@pytest.fixture(scope="session")
def repro(shared_cache: dict[str, str]) -> Callable[..., Said]:
    """`repro(folder, words...)` with the session's cache."""
    return lambda folder, *words: run_repro(folder, *words, env=shared_cache)


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits example as somebody's own repository."""
    folder = tmp_path_factory.mktemp("flow") / "digits-cnn"
    shutil.copytree(ROOT / "bundles" / "digits-cnn", folder, ignore=shutil.ignore_patterns("out", ".repro"))
    return commit(folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project without torch: one pure package, one parameter, one metric."""
    folder = tmp_path_factory.mktemp("tiny") / "tiny"
    (folder / "eval").mkdir(parents=True)
    (folder / "eval" / "a.csv").write_text("x,y\n1,2\n")
    (folder / "requirements.in").write_text("six==1.16.0\n")
    (folder / "params.json").write_text('{"lr": 0.5, "fail": 0}\n')
    (folder / "train.py").write_text(
        "import argparse, json, sys\n"
        "import six\n"
        "ap = argparse.ArgumentParser()\n"
        "ap.add_argument('--params'); ap.add_argument('--out')\n"
        "a = ap.parse_args()\n"
        "p = json.load(open(a.params))\n"
        "rows = open('eval/a.csv').read().splitlines()\n"
        "print('trained with', p['lr'], len(rows))\n"
        "if p['fail']: sys.exit(int(p['fail']))\n"
        "json.dump({'score': p['lr'] * 2}, open(a.out + '/metrics.json', 'w'))\n"
    )
    return commit(folder)
