"""An engine for tests: it records what it is asked and plays back what it was told."""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO

import msgspec

from repro.engine.contract import EngineInfo, Exit, ImageInfo, Job, Stop
from repro.errors import ReproError
from repro.events import Sink
from repro.oci.image import OciImage


@dataclass(frozen=True)
class Played:
    """What a job shall do: write `output`, then end as `exit` says, or raise `error`."""

    output: bytes = b""
    exit: Exit = field(default_factory=lambda: Exit(0))
    error: BaseException | None = None


@dataclass
class FakeEngine:
    """An `ImageEngine` without any engine.

    Attributes:
        script: one entry a job, in order; jobs beyond it succeed in silence.
        images: by reference and by id. registry: what `pull` finds; anything else is unreachable.
        roots: file system tars by reference, for `export`.
        jobs, contexts, calls: what was asked so far.
    """

    script: list[Played] = field(default_factory=list)
    images: dict[str, ImageInfo] = field(default_factory=dict)
    registry: dict[str, ImageInfo] = field(default_factory=dict)
    roots: dict[str, bytes] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    contexts: list[bytes] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def info(self) -> EngineInfo:
        """A fake one."""
        return EngineInfo(kind="fake", version="0", endpoint="nowhere", architecture="amd64")

    def run(self, job: Job, output: Callable[[bytes], None], stop: Stop | None = None) -> Exit:  # noqa: ARG002
        """Play the next entry of the script."""
        self.calls.append("run")
        played = self.script[len(self.jobs)] if len(self.jobs) < len(self.script) else Played()
        self.jobs.append(job)
        if played.output:
            output(played.output)
        if played.error is not None:
            raise played.error
        return played.exit

    def find(self, reference: str) -> ImageInfo | None:
        """The image put under that reference."""
        return self.images.get(reference)

    def pull(self, reference: str, sink: Sink) -> ImageInfo:  # noqa: ARG002 - as the contract has it
        """An image of the fake registry, or registry-unreachable."""
        self.calls.append(f"pull {reference}")
        if reference not in self.registry:
            raise ReproError(
                "registry-unreachable", f"no registry holds `{reference}`", found="a fake engine"
            )
        return self.hold(reference, self.registry[reference])

    def build(self, context: IO[bytes], tag: str, sink: Sink, *, network: bool = False) -> ImageInfo:  # noqa: ARG002
        """An image whose id is the context's digest."""
        self.calls.append(f"build {tag} network={network}")
        self.contexts.append(context.read())
        return self.hold(tag, image(self.contexts[-1], tag))

    def load_root(self, root: IO[bytes], tag: str, config: Mapping[str, object]) -> ImageInfo:
        """An image whose id is the tar's digest."""
        self.calls.append(f"load_root {tag}")
        labels = config.get("Labels")
        made = image(root.read(), tag)
        return self.hold(tag, replace(made, labels=dict(labels)) if isinstance(labels, dict) else made)

    def held_layers(self, image: OciImage) -> int:
        """The longest chain from below that an image here has."""
        wanted = [layer.digest for layer in image.layers]
        chains = [held.layers for held in self.images.values()]
        return max((n for c in chains for n in range(len(c) + 1) if list(c[:n]) == wanted[:n]), default=0)

    def load(self, image: OciImage, tag: str, sink: Sink) -> ImageInfo:  # noqa: ARG002
        """An image whose id is the configuration's digest."""
        self.calls.append(f"load {tag}")
        config = msgspec.json.decode(image.config)["config"]
        layers = tuple(layer.digest for layer in image.layers)
        labels = config.get("Labels") or {}
        made = ImageInfo(image.config_digest, (tag,), (), layers, image.bytes, labels, config, "amd64")
        return self.hold(tag, made)

    @contextmanager
    def save(self, reference: str) -> Iterator[IO[bytes]]:
        """The tar that was put under that reference."""
        self.calls.append(f"save {reference}")
        yield io.BytesIO(self.roots[reference])

    def tag(self, image_id: str, tag: str) -> None:
        """One more name."""
        self.images[tag] = self.images[image_id]

    def remove(self, reference: str) -> None:
        """Forget a name."""
        self.images.pop(reference, None)

    @contextmanager
    def export(self, reference: str) -> Iterator[IO[bytes]]:
        """The tar that was put under that reference."""
        self.calls.append(f"export {reference}")
        yield io.BytesIO(self.roots[reference])

    def hold(self, reference: str, held: ImageInfo) -> ImageInfo:
        """Put an image under a reference and its id, and return it."""
        self.images |= {reference: held, held.id: held}
        return held


def image(content: bytes, tag: str, labels: Mapping[str, str] | None = None) -> ImageInfo:
    """An image whose id and layer are the digest of `content`."""
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return ImageInfo(digest, (tag,), (), (digest,), len(content), labels or {})
