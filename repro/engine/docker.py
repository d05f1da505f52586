"""The container engine: Docker or Podman, through the docker SDK.

The SDK is imported inside functions, since importing it takes longer than many a command.
"""

import contextlib
import io
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from repro import oci, paths
from repro.engine import containers, described, failures, gpus, lasting, loading, ownership
from repro.engine.buildlog import BuildLog
from repro.engine.connect import Endpoint, connect
from repro.engine.contract import EngineInfo, Exit, ImageInfo, Job, OwnImage, Stop
from repro.engine.exporting import Pieces, exported
from repro.engine.pulllog import PullLog
from repro.errors import ReproError
from repro.events import Sink, silent
from repro.redact import text as redacted

if TYPE_CHECKING:
    from docker import DockerClient

# What each of our images carries, so that they can be told from others. The Dockerfile says it by itself:
# given to the builder it would be an instruction more than a plain `docker build` has.
OURS = {ownership.OURS: "1"}


class DockerEngine:
    """An `ImageEngine`; connects when first asked for something.

    Args:
        address: where it listens (`ssh://user@host`, `tcp://host:port`); empty for the one that is usual
        here.
    """

    def __init__(self, address: str = "") -> None:
        self._address = address

    @cached_property
    def _session(self) -> "tuple[DockerClient, Endpoint]":
        session = connect(self._address)
        weakref.finalize(self, session[0].close)  # its sockets are not left to the garbage collector
        return session

    @property
    def client(self) -> "DockerClient":
        """The SDK's client, connected."""
        return self._session[0]

    @property
    def remote(self) -> bool:
        """Whether it is another machine's: then it sees no folder of this one."""
        return self._session[1].url.startswith(("ssh://", "tcp://", "http://", "https://"))

    @property
    def _api(self) -> Any:
        """The SDK's lower level, which has no type annotations of its own."""
        return self.client.api

    @cached_property
    def _facts(self) -> dict[str, Any]:
        with _asking("describing itself"):
            return dict(self.client.info())

    def info(self) -> EngineInfo:
        """What answered and how; raises engine-unreachable, engine-permission or engine-too-old."""
        with _asking("describing itself"):
            version = self.client.version()
        facts = self._facts
        return EngineInfo(
            kind="podman" if described.is_podman(version) else "docker",
            version=str(version.get("Version", "unknown")),
            endpoint=redacted(self._session[1].url),
            rootless=described.is_rootless(facts),
            storage=str(facts.get("Driver", "")),
            architecture=described.architecture(str(facts.get("Architecture", ""))),
            facts=described.text_facts(facts, version, self._session[1]),
        )

    def run(self, job: Job, output: Callable[[bytes], None], stop: Stop | None = None) -> Exit:
        """Run a job in a container of its own; see `Engine.run`."""
        podman = False
        if gpus.wanted(job.gpus):
            info = self.info()
            gpus.refuse_if_dropped(job.gpus, info.kind, info.version)
            podman = info.kind == "podman"  # serves CDI without saying so, and drops every other request
        cdi = podman or gpus.offers_cdi(self._facts)
        host = containers.Host(rootless=described.is_rootless(self._facts), cdi=cdi, requests=not podman)
        with _asking(f"running a container of `{job.image}`"):
            return containers.run(self.client, host, job, output, stop or Stop())

    def attach(self, name: str, job: Job, output: Callable[[bytes], None]) -> Exit:
        """Follow a container of that name, which a lost connection left running, to its end; as `run` ends.

        Raises:
            run-not-there: no container has that name.
        """
        with _asking(f"following container `{name}`"):
            return lasting.attach(self.client, name, job, output)

    def find(self, reference: str) -> ImageInfo | None:
        """The image of that name or id that is held here, or None."""
        from docker.errors import APIError, ImageNotFound

        with _asking(f"looking for image `{reference}`"):
            try:
                return described.image_info(self._api.inspect_image(reference))
            except ImageNotFound:
                return None
            except APIError as problem:
                if failures.is_no_name(str(problem.explanation)):
                    return None  # a pull says so in words of its own
                raise

    def pull(self, reference: str, sink: Sink) -> ImageInfo:
        """Fetch an image from its registry; raises base-not-found or registry-unreachable."""
        from docker.errors import APIError

        name, tag = described.name_and_tag(reference)
        try:
            messages = self._api.pull(name, tag=tag, stream=True, decode=True)
            PullLog(reference, sink).read(messages)
        except APIError as problem:
            raise failures.pull_failed(reference, str(problem.explanation or problem)) from problem
        return self._must_find(reference)

    def build(self, context: IO[bytes], tag: str, sink: Sink, *, network: bool = False) -> ImageInfo:
        """Build with the classic builder, which every engine has; see `ImageEngine.build`."""
        log = BuildLog(sink)
        with _asking(f"building `{tag}`"):
            messages = self._api.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                pull=False,
                decode=True,
                # The settings file of the docker CLI may hold a proxy with a password: not for our images.
                use_config_proxy=network,
                network_mode=None if network else "none",
            )
            log.read(messages)
        return self._must_find(tag)

    def load_root(self, root: IO[bytes], tag: str, config: Mapping[str, object]) -> ImageInfo:
        """Make an image of one layer; `config` in OCI's words (Env, Cmd, Labels, …). Same bytes, same id."""
        labelled = dict(config) | {"Labels": {**OURS, **described.labels(config)}}
        layer = oci.Blobs(paths.cache()).take(root)
        image = oci.make(
            labelled,
            [layer],
            architecture=self.info().architecture,
            created=loading.CREATED,
            history=["repro base create"],
        )
        return self.load(image, tag, silent)

    def held_layers(self, image: oci.OciImage) -> int:
        """How many of the image's layers, from the lowest on, the engine holds as a chain."""
        with _asking("looking for layers"):
            return loading.held_layers(self._api, image)

    def load(self, image: oci.OciImage, tag: str, sink: Sink) -> ImageInfo:
        """Bring an image in, without the layers that are here already; see `ImageEngine.load`."""
        with _asking(f"loading `{tag}`"):
            held = loading.held_layers(self._api, image)
            found = loading.load(self._api, image, tag, held, sink, stepwise=self.remote)
        return self._must_find(found)

    @contextmanager
    def save(self, reference: str) -> Iterator[IO[bytes]]:
        """The engine's own archive of an image, as a stream."""
        with _asking(f"saving image `{reference}`"):
            pieces = self._api.get_image(reference, chunk_size=1 << 21)
            try:
                yield io.BufferedReader(Pieces(pieces), 1 << 21)
            finally:
                pieces.close()

    def tag(self, image_id: str, tag: str) -> None:
        """Give an image one more name."""
        name, version = described.name_and_tag(tag)
        with _asking(f"naming an image `{tag}`"):
            self._api.tag(image_id, name, version, force=True)

    def remove(self, reference: str) -> None:
        """Remove an image name, and the image with its last one; absent is fine."""
        from docker.errors import ImageNotFound

        with _asking(f"removing image `{reference}`"):
            try:
                self._api.remove_image(reference)
            except ImageNotFound:
                return

    @contextmanager
    def export(self, reference: str) -> Iterator[IO[bytes]]:
        """The file system of an image as a tar stream; its container is made, never started, and removed."""
        with _asking(f"reading the files of `{reference}`"), exported(self._api, reference) as tar:
            yield tar

    def own_images(self) -> list[OwnImage]:
        """The images that this tool made, newest first."""
        with _asking("listing images"):
            return ownership.own_images(self._api)

    def discard(self, image: OwnImage) -> None:
        """Take an image away with all its names; one that a container stands on stays, with an error."""
        for name in image.tags or (image.id,):
            self.remove(name)

    def leftovers(self, *, ended: bool = False) -> list[ownership.Leftover]:
        """Containers that run on though their tool was killed; with `ended` those that it did not remove."""
        with _asking("listing containers"):
            return ownership.leftovers(self.client, ended=ended)

    def remove_container(self, container_id: str) -> None:
        """Remove a container; absent is fine."""
        from docker.errors import NotFound

        with _asking("removing a container"), contextlib.suppress(NotFound):
            self._api.remove_container(container_id, force=True, v=True)

    def _must_find(self, reference: str) -> ImageInfo:
        found = self.find(reference)
        if found is None:
            raise failures.request_failed(
                f"making `{reference}`", "it said that all went well, and has no such image"
            )
        return found


@contextmanager
def _asking(doing: str) -> Iterator[None]:
    """Turn the SDK's exceptions into engine-failed or disk-full, saying what was being done."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except ReproError:
        raise
    except APIError as problem:
        raise failures.request_failed(doing, str(problem.explanation or problem)) from problem
    except (DockerException, RequestException) as problem:
        raise failures.request_failed(doing, str(problem)) from problem
