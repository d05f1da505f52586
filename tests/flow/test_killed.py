"""Killed at many moments: nothing that looks whole is not, nothing runs on unseen, the next try goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import ROOT, Said, commit, run_repro

pytestmark = [pytest.mark.docker, pytest.mark.net]
Repro = Callable[..., Said]
KILLS = int(os.environ.get("REPRO_KILLS", "4"))
SLOW = """
import argparse, json, time
ap = argparse.ArgumentParser()
ap.add_argument('--params'); ap.add_argument('--out')
a = ap.parse_args()
for i in range(int(json.load(open(a.params))['tenths'])):
    print('tick', i, flush=True); time.sleep(0.1)
json.dump({'score': 1}, open(a.out + '/metrics.json', 'w'))
"""


@dataclass(frozen=True)
class Killed:
    """What a killed command left: its number, exit status and words."""

    pid: int
    status: int
    out: str


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose training takes as long as its parameter says."""
    folder = tmp_path_factory.mktemp("slow") / "slow"
    folder.mkdir()
    (folder / "requirements.in").write_text("six==1.16.0\n")
    (folder / "params.json").write_text('{"tenths": 4}\n')
    (folder / "train.py").write_text(SLOW)
    return commit(folder)


@pytest.fixture(scope="session")
def bundle(slow: Path, repro: Repro, base_image: str) -> Path:
    said = repro(slow, "build", "--json", "--base", base_image)
    assert said.status == 0, said.out + said.err
    assert repro(slow, "run", "--label", "whole").status == 0
    return Path(said.json["bundle"]["path"])


def start(folder: Path, *words: str, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "repro", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def kill(process: "subprocess.Popen[bytes]", number: signal.Signals) -> Killed:
    """End a command; Ctrl-C reaches its whole group, as a terminal does it, any other signal only itself."""
    with process:
        if process.poll() is None:
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        out = process.communicate(timeout=120)[0].decode("utf-8", "replace")
    return Killed(process.pid, process.returncode, out)


def until(said: bytes, process: "subprocess.Popen[bytes]") -> None:
    """Read the output up to a line that holds `said`."""
    assert process.stdout is not None
    for line in process.stdout:
        if said in line:
            return
    raise AssertionError(f"it ended without saying {said!r}")


def containers_of(pid: int) -> list[str]:
    """Names of the containers that a process started and that still run."""
    form = '{{.Names}} {{.Label "dev.reprobundle.pid"}}'
    listed = subprocess.run(["docker", "ps", "--format", form], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in listed.stdout.splitlines() if f" {pid}:" in line]


@pytest.fixture
def swept() -> Iterator[list[int]]:
    """Containers of these processes are removed at the end."""
    pids: list[int] = []
    yield pids
    for name in (name for pid in pids for name in containers_of(pid)):
        subprocess.run(["docker", "rm", "-f", name], capture_output=True, check=False)


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_build_is_no_bundle(
    slow: Path, tmp_path: Path, base_image: str, shared_cache: dict[str, str], seed: int, swept: list[int]
) -> None:
    dice = random.Random(seed)  # noqa: S311 - no secret
    env = shared_cache if seed % 2 else {"REPRO_CACHE": str(tmp_path / "cache")}
    out = tmp_path / "out"
    words = ("build", "--json", "--base", base_image, "-o", str(out), "--set", f"tenths={seed + 5}")
    for number in (signal.SIGKILL, signal.SIGINT):
        process = start(slow, *words, env=env)
        time.sleep(dice.uniform(0.3, 6))
        killed = kill(process, number)
        swept.append(killed.pid)
        assert "error[bug]" not in killed.out
        if number == signal.SIGINT:
            assert containers_of(killed.pid) == []
        for made in out.glob("[!.]*"):
            assert run_repro(slow, "verify", str(made), env=env).status == 0
    said = run_repro(slow, *words, env=env)
    assert said.status == 0, said.out
    assert run_repro(slow, "verify", said.json["bundle"]["path"], env=env).status == 0
    assert [p.name for p in out.iterdir()] == [Path(said.json["bundle"]["path"]).name]
    assert list(Path(env["REPRO_CACHE"], "scratch").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_leaves_no_container_and_is_incomplete(
    slow: Path, bundle: Path, repro: Repro, shared_cache: dict[str, str], number: signal.Signals
) -> None:
    label = f"stopped-{number.name}"
    process = start(slow, "run", str(bundle), "--set", "tenths=600", "--label", label, env=shared_cache)
    until(b"tick 1", process)
    assert len(containers_of(process.pid)) == 1
    killed = kill(process, number)
    assert killed.status == 130
    assert "stopped" in killed.out
    assert containers_of(killed.pid) == []
    shown = repro(slow, "show", label)
    assert (shown.status, shown.out.split(":")[0]) == (0, "stopped")
    judged = repro(slow, "compare", "whole", label, "--allow", "params.tenths", "--json")
    assert (judged.status, judged.json["verdict"]) == (7, "incomplete")


def test_a_container_whose_starter_was_killed_is_named(
    slow: Path, bundle: Path, repro: Repro, shared_cache: dict[str, str], swept: list[int]
) -> None:
    process = start(slow, "run", str(bundle), "--set", "tenths=600", "--label", "orphan", env=shared_cache)
    until(b"tick 1", process)
    killed = kill(process, signal.SIGKILL)
    swept.append(killed.pid)
    (name,) = containers_of(killed.pid)
    seen = repro(slow, "doctor", "--json")
    (finding,) = [f for f in seen.json["findings"] if name in f["found"]]
    assert finding["state"] == "warning"
    judged = repro(slow, "compare", "whole", "orphan", "--allow", "params.tenths", "--json")
    assert (judged.status, judged.json["verdict"]) == (7, "incomplete")
    assert repro(slow, "show", "orphan").out.startswith("running:")
    subprocess.run(finding["tries"][0].split(), check=True, capture_output=True)
    assert name not in repro(slow, "doctor").out


@pytest.mark.parametrize("engine", ["docker", "inplace"])
def test_a_run_killed_at_any_moment_is_never_taken_for_whole(
    slow: Path, bundle: Path, repro: Repro, shared_cache: dict[str, str], engine: str, swept: list[int]
) -> None:
    dice = random.Random(engine)  # noqa: S311 - no secret
    runs = bundle / "runs"
    for number in [signal.SIGKILL] * (KILLS // 2) + [signal.SIGINT, signal.SIGTERM]:
        before = set(runs.iterdir())
        process = start(slow, "run", str(bundle), "--engine", engine, "--json", env=shared_cache)
        time.sleep(dice.uniform(0.3, 2))
        killed = kill(process, number)
        swept.append(killed.pid)
        for run in set(runs.iterdir()) - before:
            said = repro(slow, "compare", "whole", str(run), "--json")
            if (run / "result.json").exists():
                assert said.json["verdict"] not in ("incomplete", "incomparable")
            else:
                assert said.status in (2, 7), said.out
    assert repro(slow, "run", str(bundle), "--engine", engine).status == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_recording_is_closed(
    slow: Path, tmp_path: Path, repro: Repro, number: signal.Signals
) -> None:
    (tmp_path / "loop.py").write_text(
        "import time\nfor i in range(600): print('tick', i, flush=True); time.sleep(0.1)\n"
    )
    words = ("record", "--out", str(tmp_path / "run"), "--", sys.executable, str(tmp_path / "loop.py"))
    process = start(slow, *words, env={})
    until(b"tick 1", process)
    killed = kill(process, number)
    assert killed.status not in (0, 1)
    record = json.loads((tmp_path / "run" / "attempt-1" / "run.json").read_text())
    assert record["status"] == "stopped"
    assert repro(slow, "show", str(tmp_path / "run")).status == 0


def test_a_killed_lock_leaves_the_old_one(
    slow: Path, tmp_path: Path, base_image: str, shared_cache: dict[str, str], repro: Repro, swept: list[int]
) -> None:
    out = tmp_path / "lock"
    words = ("lock", "--engine", "inplace", "--json", "--relock", "-o", str(out))
    assert repro(slow, *words).status == 0
    before = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    for number, after in ((signal.SIGKILL, 1.0), (signal.SIGINT, 2.5)):
        process = start(slow, *words, env=shared_cache)
        time.sleep(after)
        killed = kill(process, number)
        assert killed.status in (-9, 130, 0)
        assert {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}.keys() == before.keys()
    assert repro(slow, *words).status == 0
    assert [p.name for p in tmp_path.iterdir()] == ["lock"]
