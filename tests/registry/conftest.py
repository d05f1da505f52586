"""Registries to push to, and an image of small layers that lie in a cache of their own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro import oci
from repro.events import Event, silent
from repro.registry import Connection, Pusher, parse

from . import servers

CREATED = "2020-02-02T00:00:00Z"
MEGA = 1 << 20


@pytest.fixture(scope="session")
def shared_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Registry]:
    with servers.registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[servers.Registry]:
    with servers.registry(tmp_path / "registry") as running:
        yield running


@pytest.fixture
def relay(registry: servers.Registry) -> Iterator[servers.Relay]:
    with servers.relay(registry.address) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_logins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the user's own, and no waiting between tries."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for module in ("connection", "download", "upload"):
        monkeypatch.setattr(f"repro.registry.{module}.sleep", lambda _seconds: None)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def make_image(cache: Path, sizes: tuple[int, ...] = (3 * MEGA, 100)) -> oci.OciImage:
    blobs = oci.Blobs(cache)
    layers = [blobs.put(os.urandom(size)) for size in sizes]
    words = [f"layer {i}" for i in range(len(sizes))]
    return oci.make({"Cmd": ["/x"]}, layers, architecture="amd64", created=CREATED, history=words)


def pusher(address: str, cache: Path, *, piece: int = MEGA, sink=silent, **more: bool) -> Pusher:
    connection = Connection(parse(f"{address}/team/name"), writing=True, **more)
    return Pusher(connection, cache, sink, piece)


class Heard(list[Event]):
    """A sink that keeps what it hears."""

    def __call__(self, event: Event) -> None:
        self.append(event)
