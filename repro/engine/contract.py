"""What a place that runs things must be able to do. Everything above talks to this alone."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from repro.events import Sink
from repro.oci.image import OciImage

EngineName = Literal["docker", "inplace"]  # what a user may ask for; docker stands for Podman too


@dataclass(frozen=True)
class Bind:
    """A host path made visible inside, read-only unless said otherwise."""

    host: Path
    inside: str
    writable: bool = False


@dataclass(frozen=True)
class Job:
    """One command, run to its end.

    Attributes:
        image: reference or id; ignored by an engine without images.
        argv: the command; `entrypoint` replaces the image's own, None keeps it.
        network: False cuts the container from any network but loopback.
        user: "caller" for the calling user, "root" for the image's root.
        read_only: root file system read-only, with an executable /tmp.
        shm_bytes: size of /dev/shm. memory_bytes: limit of memory, 0 for none.
        gpus: "none", "all", or a comma list of indices or UUIDs.
        name: container name, empty for any. labels: besides the tool's own.
        sent: folder inside -> a tar in pieces, unpacked there before the start. Needs a root that can be
        written. fetched: path inside -> what takes the tar of it, in pieces, after the end. Both go through
        the
            engine's own connection: they reach an engine that sees no folder of this machine.
        kept: the container outlives a lost connection, to be attached to again.
    """

    image: str
    argv: tuple[str, ...]
    entrypoint: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[Bind, ...] = ()
    workdir: str = ""
    network: bool = False
    user: str = "caller"
    read_only: bool = True
    shm_bytes: int = 8 << 30
    memory_bytes: int = 0
    gpus: str = "none"
    labels: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    sent: Mapping[str, Callable[[], Iterator[bytes]]] = field(default_factory=dict)
    fetched: Mapping[str, Callable[[Iterator[bytes]], object]] = field(default_factory=dict)
    kept: bool = False


@dataclass(frozen=True)
class Exit:
    """How a job ended. `oom` when the kernel killed it for memory; `obtained` names limits in force."""

    status: int
    oom: bool = False
    obtained: Mapping[str, str] = field(default_factory=dict)


class Stop:
    """Lets another thread end a running job early, as a stop of it would: SIGTERM, grace, SIGKILL.

    `asked` is True once that was wished for; the job then ends by itself, and its `Exit` is returned.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._way: Callable[[], object] | None = None
        self.asked = False

    def ask(self) -> None:
        """Wish for the end; before the job has started it counts from its start on."""
        with self._lock:
            self.asked = True
            if self._way is not None:
                self._way()

    @contextmanager
    def by(self, way: Callable[[], object]) -> Iterator[None]:
        """For engines: how the job is told, as long as the block lasts. `way` must return at once."""
        with self._lock:
            self._way = way
            if self.asked:
                way()
        try:
            yield
        finally:
            with self._lock:
                self._way = None


@dataclass(frozen=True)
class EngineInfo:
    """Which engine answered: kind is docker, podman, inplace or fake."""

    kind: str
    version: str
    endpoint: str
    rootless: bool = False
    storage: str = ""
    architecture: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ImageInfo:
    """An image that the engine holds. `layers` are diff ids, oldest first; size in bytes.

    `config` is what its configuration says of containers, as the engine tells it (Env, Cmd, Labels, ...).
    """

    id: str
    tags: tuple[str, ...]
    repo_digests: tuple[str, ...]
    layers: tuple[str, ...]
    bytes: int
    labels: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    architecture: str = ""


@dataclass(frozen=True)
class OwnImage:
    """An image that this tool made, newest first in a list of them.

    Attributes:
        title: name of the bundle; empty for other images. tags: its names, none for one that lost its name.
        bytes: of all layers; `own_bytes` of those that no other image has.
        base: a base image, or one with Debian packages. used: a container stands on it.
        passing: it was made on the way to another one.
    """

    id: str
    tags: tuple[str, ...]
    title: str
    bytes: int
    own_bytes: int
    base: bool
    used: bool
    passing: bool = False


class Engine(Protocol):
    """Runs jobs. Errors are `ReproError`s with the cause and the next command."""

    def info(self) -> EngineInfo:
        """Describe the engine, or raise engine-unreachable / engine-permission."""
        ...

    def run(self, job: Job, output: Callable[[bytes], None], stop: Stop | None = None) -> Exit:
        """Run `job` to its end, handing its output on as it comes.

        On KeyboardInterrupt the job is told to stop (SIGTERM, 30 s of grace, SIGKILL), its
        remaining output is handed on, it is removed, and the interrupt goes on. `stop` tells it the
        same from another thread, and its end is then returned as any other.
        """
        ...


class ImageEngine(Engine, Protocol):
    """An engine that also builds and keeps images."""

    def find(self, reference: str) -> ImageInfo | None:
        """The image of that reference or id that this engine holds already, or None."""
        ...

    def pull(self, reference: str, sink: Sink) -> ImageInfo:
        """Fetch from a registry, or raise base-not-found / registry-unreachable."""
        ...

    def build(self, context: IO[bytes], tag: str, sink: Sink, *, network: bool = False) -> ImageInfo:
        """Build from a context tar that holds `Dockerfile`, and tag the result.

        `network` is for Debian packages alone; without it no instruction reaches any network.

        Raises:
            image-build-failed: with the failing instruction and its last lines.
            disk-full: the engine's disk has no space left.
        """
        ...

    def load_root(self, root: IO[bytes], tag: str, config: Mapping[str, object]) -> ImageInfo:
        """Make an image of one layer from a root file system tar, the same id for the same bytes."""
        ...

    def held_layers(self, image: OciImage) -> int:
        """How many of an image's layers, from the lowest on, are here; a load sends only those above."""
        ...

    def load(self, image: OciImage, tag: str, sink: Sink) -> ImageInfo:
        """Bring an image into the engine under `tag`, sending only the layers that it does not hold.

        It counts only when the engine can make a container of it, and names it by one of its two digests.

        Raises:
            image-load-failed: the engine took it and has another image, or none that works.
            disk-full: the engine's disk has no space left.
        """
        ...

    def save(self, reference: str) -> AbstractContextManager[IO[bytes]]:
        """An image with its layers, as the engine's own archive (a tar that is read once, forward)."""
        ...

    def tag(self, image_id: str, tag: str) -> None:
        """Give an image one more name."""
        ...

    def remove(self, reference: str) -> None:
        """Remove an image name; absent is fine."""
        ...

    def export(self, reference: str) -> AbstractContextManager[IO[bytes]]:
        """The whole file system of an image as a tar that is read once, forward; nothing is started."""
        ...
