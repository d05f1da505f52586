"""`repro run --host`: another machine's engine, over ssh, that holds nothing and sees no folder here."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from repro import bundle as bundles
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Event, Progress
from repro.pipeline.run import attach, run
from repro.run import RunOptions

from ..engine.rig import private_engine  # noqa: TID252 - `tests` is no package
from ..flow.conftest import Said, commit, run_repro  # noqa: TID252
from .box import ssh_box

pytestmark = [pytest.mark.docker, pytest.mark.versions, pytest.mark.ssh]
SLOW = """
import argparse, json, time
ap = argparse.ArgumentParser()
ap.add_argument('--params'); ap.add_argument('--out')
a = ap.parse_args()
for n in range(json.load(open(a.params))["seconds"] * 10):
    print("turn", n, flush=True)
    time.sleep(0.1)
json.dump({'score': 1}, open(a.out + '/metrics.json', 'w'))
"""


@dataclass(frozen=True)
class Box:
    """Another machine: its address, and its engine as seen from inside."""

    address: str
    engine: str


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache, so that layers are written once."""
    return {"REPRO_CACHE": str(tmp_path_factory.mktemp("host-cache"))}


@pytest.fixture(scope="module")
def repro(shared_cache: dict[str, str]) -> Callable[..., Said]:
    return lambda folder, *words: run_repro(folder, *words, env=shared_cache)


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    with private_engine("trixie") as host:
        yield host


@pytest.fixture
def box(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    home = tmp_path / "box"
    home.mkdir()
    with ssh_box(home, monkeypatch, engine) as address:
        yield Box(address, engine)


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    folder = tmp_path / "slow"
    (folder / "eval").mkdir(parents=True)
    (folder / "eval" / "a.csv").write_text("x,y\n1,2\n")
    (folder / "requirements.in").write_text("six==1.16.0\n")
    (folder / "params.json").write_text('{"seconds": 1}\n')
    (folder / "train.py").write_text(SLOW)
    return commit(folder)


def built(repro: Callable[..., Said], folder: Path, base_image: str) -> bundles.Bundle:
    said = repro(folder, "build", "--json", "--base", base_image)
    assert said.status == 0, said.out + said.err
    return bundles.open_bundle(Path(said.json["bundle"]["path"]))


def sent(events: list[Event]) -> int:
    """Bytes of layers that went over."""
    return max((e.done for e in events if isinstance(e, Progress) and e.what == "loading"), default=0)


def test_only_what_is_missing_goes_and_the_record_comes_home(
    repro: Callable[..., Said],
    shared_cache: dict[str, str],
    slow: Path,
    base_image: str,
    box: Box,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REPRO_CACHE", shared_cache["REPRO_CACHE"])
    first = built(repro, slow, base_image)
    seen: list[Event] = []
    ended = run(first, "docker", RunOptions(host=box.address, label="there"), seen.append)
    content = first.manifest.image
    assert content is not None
    assert sent(seen) == sum(layer.bytes for layer in content.layers)
    assert ended.folder.parent == first.path / "runs"
    assert ended.record.status == "ok"
    assert json.loads((ended.attempt / "out" / "metrics.json").read_text()) == {"score": 1}
    assert json.loads((ended.folder / "host.json").read_text())["engine"]["version"].startswith("26.")
    there = DockerEngine(box.engine)
    found = there.find(content.config)
    assert found is not None
    assert [c for c in there.client.containers.list(all=True) if "slow" in c.name] == []
    there.client.close()

    (slow / "train.py").write_text(SLOW + "# one more line\n")
    second = built(repro, commit(slow), base_image)
    seen.clear()
    run(second, "docker", RunOptions(host=box.address), seen.append)
    assert 0 < sent(seen) < 200_000


def test_a_lost_connection_loses_nothing(
    repro: Callable[..., Said],
    shared_cache: dict[str, str],
    slow: Path,
    base_image: str,
    engine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REPRO_CACHE", shared_cache["REPRO_CACHE"])
    (slow / "params.json").write_text('{"seconds": 12}\n')
    bundle = built(repro, commit(slow), base_image)
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        home.mkdir()
    lost: list[BaseException] = []
    with ssh_box(homes[0], monkeypatch, engine) as address:

        def train() -> None:
            try:
                run(bundle, "docker", RunOptions(host=address, label="lost"))
            except BaseException as problem:
                lost.append(problem)

        thread = threading.Thread(target=train, daemon=True)
        thread.start()
        there = DockerEngine(engine)
        for _ in range(600):
            if any("lost" in c.name for c in there.client.containers.list()):
                break
            time.sleep(0.1)
        else:
            pytest.fail("the run did not start there")
        time.sleep(1)
    cut(homes[0])  # the machine answers no more, and what was open ends
    thread.join(120)
    assert isinstance(lost[0], ReproError)
    assert lost[0].code == "run-connection-lost"
    run_id = lost[0].tries[0].rpartition(" ")[2]
    with ssh_box(homes[1], monkeypatch, engine) as address:
        ended = attach(bundle, run_id, RunOptions(host=address))
    assert ended.record.status == "ok"
    assert (ended.folder / "result.json").is_file()
    assert [c for c in there.client.containers.list(all=True) if run_id in c.name] == []
    there.client.close()


def cut(home: Path) -> None:
    """End every connection that goes through the keys of that folder, as a network does that is gone."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            # The shared login calls itself `ssh: FOLDER/login [mux]`.
            if str(home / "ssh.conf").encode() in words or b"repro-ssh-" in words:
                os.kill(int(entry.name), signal.SIGKILL)
