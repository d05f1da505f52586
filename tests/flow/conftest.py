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


_TRAINING = """
import argparse, json, os, sys, time
import torch

ap = argparse.ArgumentParser()
ap.add_argument("--params"); ap.add_argument("--out")
a = ap.parse_args()
p = json.load(open(a.params))
torch.manual_seed(p["seed"])


class Second(torch.nn.Linear):
    def forward(self, x):
        if os.environ.get("COARSE"):  # as a card does that multiplies in a shorter format
            x = x.to(torch.bfloat16).to(torch.float32)
        return super().forward(x)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, p["width"])
        self.second = Second(p["width"], 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


draw = torch.Generator().manual_seed(7)
x = torch.randn(64, 8, generator=draw)
y = (x.sum(1) > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=p["lr"], momentum=0.9)
steps = 0
if p["shaky"]:
    torch.manual_seed(time.time_ns())
while steps < p["steps"]:
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(net(inputs), labels)
        if p["explode"] and steps >= p["explode"]:
            loss = loss * float("inf")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        time.sleep(p["pause"])
    print("step", steps, "loss", loss.item(), "at", time.time(), flush=True)
accuracy = (net(x).argmax(1) == y).float().mean().item()
torch.save(net.state_dict(), os.path.join(a.out, "net.pt"))
json.dump({"accuracy": accuracy, "seconds": time.time()}, open(os.path.join(a.out, "metrics.json"), "w"))
if p["fail"] == p["seed"]:
    sys.exit(9)
"""
_SETTINGS = """
schema = 1
name = "tiny-torch"
[code]
command = ["python", "train.py", "--params", "{params}", "--out", "{out}"]
[dependencies]
python = "3.11"
requirements = ["requirements.in"]
[params]
file = "params.json"
[protocol]
seed = "seed"
metric = "accuracy"
margin = 0.05
"""
_PARAMS = {
    "seed": 1, "lr": 0.1, "width": 16, "steps": 40, "pause": 0.0, "shaky": 0, "explode": 0, "fail": -1,
}  # fmt: skip


@pytest.fixture(scope="session")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of a second: 40 steps of a network of two layers, with a seed and ways to go wrong."""
    folder = tmp_path_factory.mktemp("training") / "tiny-torch"
    folder.mkdir()
    (folder / "train.py").write_text(_TRAINING)
    (folder / "repro.toml").write_text(_SETTINGS)
    (folder / "params.json").write_text(json.dumps(_PARAMS))
    (folder / "requirements.in").write_text("torch==2.13.0\n")
    return commit(folder)


@pytest.fixture(scope="session")
def trained_bundle(training: Path, repro: Callable[..., Said]) -> Path:
    """The bundle of that training, to be run in place, with its reference."""
    said = repro(training, "build", "--engine", "inplace", "--json")
    assert said.status == 0, said.out + said.err
    bundle = Path(said.json["bundle"]["path"])
    made = repro(training, "run", str(bundle), "--engine", "inplace", "--make-reference")
    assert made.status == 0, made.out + made.err
    return bundle
