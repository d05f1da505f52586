"""A bundle's image made of layers that are written here: the same digests wherever it is made."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from repro import paths
from repro.engine.contract import ImageEngine
from repro.events import Sink, silent, step
from repro.image.base.layers import base_blobs
from repro.image.base.system import System, system_of
from repro.image.contents import Contents
from repro.image.layers import content, environment
from repro.image.layers.environment import EnvLayer
from repro.image.layers.piece import Pieces
from repro.image.layers.workshop import Workshop
from repro.image.plain.dockerfile import DockerfileFacts, facts
from repro.image.tree import Line, tree_digest
from repro.model import canonical
from repro.model.image import ImageContent, LayerRecord
from repro.oci.blobs import Blob, Blobs
from repro.oci.image import OciImage, make

_ENTRYPOINT = ["/opt/env/bin/python", "-m", "repro_runtime"]


@dataclass(frozen=True)
class Assembled:
    """The image, what it is known by, and the files below /opt/env and /opt/repro."""

    image: OciImage
    content: ImageContent
    lines: list[Line]


def assemble(given: Contents, base_id: str, engine: ImageEngine, sink: Sink) -> Assembled:
    """Write the layers that are not written yet, and put all of them together.

    `base_id` is the engine's id of the base image, whose layers the bundle names.

    Raises:
        image-save-failed: the base image's layers cannot be had.
        layer-make-failed, wheel-broken: see `environment.layers`.
    """
    blobs = Blobs(paths.cache())
    pieces = Pieces(paths.cache(), blobs)
    system = system_of(given, base_id, engine, blobs, sink)
    below = [*given.manifest.base.layers, *(blob.digest for blob in system.layers)]
    scratch = paths.cache() / "scratch"
    shop = Workshop(given.folder, system.image, canonical.digest(below), engine, pieces, scratch, sink)
    with step(sink, "layers") as shown, ThreadPoolExecutor(1) as beside:
        # The engine reads its own layers out while this machine compiles.
        reading = beside.submit(base_blobs, given.manifest.base, blobs, engine, silent, given.folder)
        env = environment.layers(shop, given.lock)
        own = content.layers(given.folder, given.manifest, given.lock.python, given.evalset, pieces)
        lowest = reading.result()
        shown.detail = f"{len(env)} of the environment, {len(own)} of the bundle's own content"
    records = [*_lower(lowest, system), *_upper(env), *(_record(p.blob, role) for role, p in own)]
    held = [*lowest, *system.layers, *(layer.piece.blob for layer in env), *(p.blob for _role, p in own)]
    lines = [line for layer in env for line in layer.piece.lines] + [
        line for _r, p in own for line in p.lines
    ]
    image = image_of(given, held, records)
    for data in (image.config, image.manifest):
        blobs.put(data)
    known = ImageContent(
        config=image.config_digest, manifest=image.manifest_digest, tree=tree_digest(lines), layers=records
    )
    return Assembled(image, known, lines)


def _lower(base: Sequence[Blob], system: System) -> list[LayerRecord]:
    return [*(_record(b, "base") for b in base), *(_record(b, "system") for b in system.layers)]


def _upper(env: Sequence[EnvLayer]) -> list[LayerRecord]:
    return [
        LayerRecord(
            digest=layer.piece.blob.digest,
            bytes=layer.piece.blob.bytes,
            role="wheel" if layer.large else "env",
            holds=layer.wheels,
        )
        for layer in env
    ]


def _record(blob: Blob, role: Any) -> LayerRecord:
    return LayerRecord(digest=blob.digest, bytes=blob.bytes, role=role)


def image_of(given: Contents, held: Sequence[Blob], records: Sequence[LayerRecord]) -> OciImage:
    """The image of those layers, with the configuration that the bundle's records give."""
    said = _facts(given)
    return make(
        config(given.manifest.base.config, said),
        held,
        architecture=given.manifest.base.architecture or "amd64",
        created=datetime.fromtimestamp(said.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        history=[
            f"repro: {record.role}{': ' + ' '.join(record.holds[:1]) if record.holds else ''}"
            for record in records
        ],
    )


def _facts(given: Contents) -> DockerfileFacts:
    return facts(
        given.manifest.name,
        given.manifest.id,
        given.manifest.base,
        given.lock,
        given.snapshot,
        has_eval=(given.folder / "eval").is_dir(),
        has_params=(given.folder / "params").is_dir(),
        arch_list=given.arch_list,
    )


def config(base: dict[str, Any], said: DockerfileFacts) -> dict[str, Any]:
    """The image's configuration: the base's, with what the Dockerfile sets."""
    given = [entry.partition("=")[::2] for entry in base.get("Env") or ()]
    env = dict(given)
    path = env.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    env |= {"PATH": f"/opt/env/bin:{path}", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    if said.arch_list:
        env["TORCH_CUDA_ARCH_LIST"] = said.arch_list
    return base | {
        "Env": [f"{key}={value}" for key, value in env.items()],
        "User": "0:0",
        "WorkingDir": "/opt/repro",
        "Entrypoint": _ENTRYPOINT,
        "Cmd": ["run"],
        "Labels": {**(base.get("Labels") or {}), **dict(said.labels)},
    }
