"""A bundle comes out of a registry: checked, written aside, renamed; then its image comes into the engine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro import bundle as bundles
from repro import paths, registry
from repro.bundle import Bundle
from repro.engine.contract import ImageEngine, ImageInfo
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Meter, Note, Sink, step
from repro.files import alone, folder_aside, write_whole
from repro.image import image_tag
from repro.model import canonical
from repro.model.bundle import ImageRecord, Manifest
from repro.move import names, top_of
from repro.oci import OciImage
from repro.pipeline import signed
from repro.pipeline.import_ import home_of
from repro.pipeline.landing import landed
from repro.pipeline.listing import listing, rules_of
from repro.pipeline.ready import damaged
from repro.registry import Connection, Downloads, Found


@dataclass(frozen=True)
class PullOptions:
    """What a user may say about one pull.

    Attributes:
        out: folder for bundles; None for the nearest `.repro`, or a new one in the current folder.
        load: whether the image is fetched and goes into the engine.
        insecure: whether plain http may be used over a network.
        keys: public keys, one of which must have signed the bundle.
    """

    out: Path | None = None
    load: bool = True
    insecure: bool = False
    keys: Sequence[Path] = ()


@dataclass(frozen=True)
class Pulled:
    """The bundle, and what came of it.

    Attributes:
        bundle: its folder, opened.
        image: None when it has none, or it was not loaded.
        cached: whether the folder was there already.
        reference, digest: of the bundle in the registry.
    """

    bundle: Bundle
    image: ImageRecord | None
    cached: bool
    reference: str
    digest: str


def pull(word: str, options: PullOptions, sink: Sink) -> Pulled:
    """Fetch the bundle that `word` names, and its image.

    A kill leaves nothing that counts as whole; the same command then goes on with what has arrived.

    Raises:
        registry-content: something is not what a digest or the bundle's manifest says.
        registry-no-bundle, registry-no-image: it is not there.
        pull-in-the-way: something else has the folder's name.
        signature-missing, signature-untrusted, signature-altered: see `repro.pipeline.signed`.
        registry-…: see `repro.registry`.
    """
    reference = registry.parse(word)
    engine = _engine() if options.load else None
    connection = Connection(reference, insecure=options.insecure)
    try:
        with step(sink, "find") as shown:
            found = registry.find(connection, Downloads(connection, paths.cache(), Meter(sink, "asking", 0)))
            manifest = listing(found)
            shown.detail = f"{found.reference}, {found.digest[:19]}"
        home = options.out or home_of(Path.cwd())
        with alone(home / top_of(manifest)):
            cached = _place(connection, found, manifest, home, options, sink)
        bundle = bundles.open_bundle(home / top_of(manifest))
        record = _load(connection, bundle, engine, sink) if engine else None
    finally:
        connection.close()
    return Pulled(bundle, record, cached, found.reference, found.digest)


def _engine() -> ImageEngine:
    """The engine that takes the image; asked before anything is fetched."""
    engine = DockerEngine()
    engine.info()
    return engine


def _place(
    connection: Connection, found: Found, manifest: Manifest, home: Path, options: PullOptions, sink: Sink
) -> bool:
    """Have the folder; whether it was there, and is then added to where it lacks something."""
    target = home / top_of(manifest)
    there = os.path.lexists(target)
    if there:
        _same(target, found)
        if not _may_lack(target, found):
            signed.admit(target, options.keys, sink)
            return True
    with step(sink, "pull") as shown, folder_aside(home, "pull") as aside:
        _fetch(connection, found, manifest, aside.path, sink)
        signature = (target if (target / names.SIGNATURE).is_file() else aside.path) / names.SIGNATURE
        signs = signature.read_bytes() if signature.is_file() else None
        signed.tell(target.name, signed.judged(target.name, found.document, signs, options.keys), sink)
        shown.cached, shown.detail = there, landed(aside, target, sink)
    return there


def _may_lack(target: Path, found: Found) -> bool:
    """Whether the registry may have more than the folder: wheels that were left out, or what lies beside."""
    return (target / "thin.json").exists() or registry.has_beside(found.artifact)


def _fetch(connection: Connection, found: Found, manifest: Manifest, into: Path, sink: Sink) -> None:
    rules = rules_of(manifest)
    registry.check(found.artifact, rules)
    total = sum(row.size for row in found.artifact.layers)
    downloads = Downloads(connection, paths.cache(), Meter(sink, "pulling", total))
    registry.unpack(found.artifact, rules, downloads.fetch, downloads.blobs, into)
    write_whole(into / names.MANIFEST, found.document)


def _same(target: Path, found: Found) -> None:
    """Raise unless the folder that is there is the same bundle, and whole."""
    path = target / names.MANIFEST
    if not path.is_file() or path.read_bytes() != found.document:
        raise ReproError(
            "pull-in-the-way",
            f"`{target}` is there, and is not this bundle",
            found="another manifest" if path.is_file() else "no bundle.json in it",
            needs="the same bundle, or nothing",
            done="it was not touched",
            tries=["repro pull REFERENCE -o FOLDER", f"mv {target} {target}.old"],
        )
    there = bundles.open_bundle(target)
    if damage := bundles.verify(there):
        raise damaged(there, damage)


def _load(connection: Connection, bundle: Bundle, engine: ImageEngine, sink: Sink) -> ImageRecord | None:
    content = bundle.manifest.image
    if content is None:
        return None
    tag = image_tag(bundle.manifest.name, bundle.manifest.id)
    total = sum(layer.bytes for layer in content.layers)
    with step(sink, "image") as shown:
        downloads = Downloads(connection, paths.cache(), Meter(sink, "pulling image", total))
        head = registry.image_head(connection, downloads, content)
        if head is None:
            raise _no_image(connection, bundle)
        held = engine.held_layers(head)
        downloads.meter.skip(sum(layer.bytes for layer in head.layers[:held]))
        image = registry.layers(head, downloads, held)
        shown.detail = (
            f"{downloads.meter.moved / 1e6:,.1f} of {total / 1e6:,.1f} MB fetched, {held} layers held"
        )
    with step(sink, "load") as shown:
        info = _loaded(engine, image, downloads, tag, sink)
        record = ImageRecord(
            engine=engine.info().kind, tag=tag, id=info.id, bytes=info.bytes, layers=list(info.layers)
        )
        write_whole(bundle.path / "image.json", canonical.pretty(record))
        shown.detail = tag
    return record


def _loaded(engine: ImageEngine, image: OciImage, downloads: Downloads, tag: str, sink: Sink) -> ImageInfo:
    try:
        return engine.load(image, tag, sink)
    except ReproError as problem:
        if problem.code != "image-load-failed" or all(layer.path for layer in image.layers):
            raise
        sink(Note("note", f"this engine holds layers of `{tag}` in another form: all of them are fetched"))
        return engine.load(registry.layers(image, downloads, 0), tag, sink)


def _no_image(connection: Connection, bundle: Bundle) -> ReproError:
    content = bundle.manifest.image
    return ReproError(
        "registry-no-image",
        f"the image of bundle `{bundle.path.name}` is not in `{connection.reference.place}`",
        found=f"no manifest {content.manifest if content else ''}",
        done=f"the bundle lies whole in `{bundle.path}`",
        tries=[
            f"docker build -t {image_tag(bundle.manifest.name, bundle.manifest.id)} {bundle.path}",
            "repro push BUNDLE REFERENCE      (where the bundle lies)",
        ],
    )
