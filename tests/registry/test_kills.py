"""Killed at many moments: nothing that looks whole is not, and the next push or pull goes on."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from repro import bundle as bundles
from repro import oci
from repro.events import silent
from repro.pipeline.pull import PullOptions, pull
from repro.pipeline.push import PushOptions, push
from tests.move.conftest import make_bundle

from .conftest import MEGA, make_image, pusher
from .servers import Registry
from .test_upload import whole

pytestmark = pytest.mark.registry
ROOT = Path(__file__).resolve().parents[2]
KILLS = 12
PUSH = """
import sys
from pathlib import Path
from repro import oci
from repro.events import silent
from repro.registry import Connection, Pusher, parse
place, cache, config, manifest, *layers = sys.argv[1:]
blobs = oci.Blobs(Path(cache))
read = lambda digest: blobs.find(digest).path.read_bytes()
image = oci.OciImage(read(config), read(manifest), tuple(map(blobs.find, layers)))
print('ready', flush=True)
Pusher(Connection(parse(place), writing=True), Path(cache), silent, 1 << 20).image(image, 'one')
"""
PULL = """
import sys
from pathlib import Path
from repro.events import silent
from repro.pipeline.pull import PullOptions, pull
print('ready', flush=True)
pull(sys.argv[1], PullOptions(out=Path(sys.argv[2]), load=False), silent)
"""


def kill_after(seconds: float, program: str, *words: str) -> int:
    """Start the program, and kill it so many seconds after it was ready; its exit status."""
    argv = [sys.executable, "-c", program, *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.wait()


def test_a_push_that_is_killed(registry: Registry, cache: Path) -> None:
    image = make_image(cache, (24 * MEGA, 3 * MEGA, 24 * MEGA))
    blobs = oci.Blobs(cache)
    parts = [blobs.put(data).digest for data in (image.config, image.manifest)]
    words = [f"{registry.address}/team/name", str(cache), *parts, *(layer.digest for layer in image.layers)]
    chance = random.Random(5)  # noqa: S311
    statuses = []
    for _ in range(KILLS):
        statuses.append(kill_after(chance.uniform(0, 0.35), PUSH, *words))
        tags = requests.get(f"http://{registry.address}/v2/team/name/tags/list", timeout=30)
        if tags.status_code == 200 and tags.json()["tags"]:
            whole(registry, image, "one")
    assert -signal.SIGKILL in statuses
    pusher(registry.address, cache).image(image, "one")
    whole(registry, image, "one")
    assert [path for path in (cache / "registry" / "uploads").iterdir() if path.suffix == ".json"] == []


def test_a_pull_that_is_killed(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = make_bundle(tmp_path / "home", size=24 * MEGA)
    place = f"{registry.address}/team/name"
    push(sample.bundle, place, PushOptions(image=False), silent)
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path / "elsewhere"))
    out = tmp_path / "out"
    chance = random.Random(7)  # noqa: S311
    statuses = []
    for _ in range(KILLS):
        statuses.append(kill_after(chance.uniform(0, 0.3), PULL, place, str(out)))
        for found in out.glob("[!.]*"):
            assert bundles.verify(bundles.open_bundle(found)) == []
    assert -signal.SIGKILL in statuses
    got = pull(place, PullOptions(out=out, load=False), silent)
    assert bundles.verify(got.bundle) == []
    assert [path.name for path in out.iterdir() if path.name.startswith(".part-")] == []


def test_an_interrupt_waits_for_the_piece_under_way(registry: Registry, cache: Path) -> None:
    """So that the registry can be asked for the offset: Docker's forgets an upload whose piece was cut."""
    image = make_image(cache, (48 * MEGA,))
    blobs = oci.Blobs(cache)
    parts = [blobs.put(data).digest for data in (image.config, image.manifest)]
    words = [f"{registry.address}/team/name", str(cache), *parts, *(layer.digest for layer in image.layers)]
    argv = [sys.executable, "-c", PUSH, *words]
    for _ in range(4):
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.15)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    pusher(registry.address, cache).image(image, "one")
    whole(registry, image, "one")
    assert "resumed at wrong off" not in registry.log
