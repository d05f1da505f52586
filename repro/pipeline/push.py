"""A bundle and its image go into a registry, as two things in one repository."""

from collections.abc import Iterator
from dataclasses import dataclass

from repro import oci, paths, registry
from repro.bundle import Bundle, need_wheels
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Note, Sink
from repro.move import names
from repro.oci import OciImage
from repro.pipeline.ready import check_whole
from repro.registry import BUNDLE_SUFFIX, Connection, Pusher, Reference, Sent


@dataclass(frozen=True)
class PushOptions:
    """What a user may say about one push.

    Attributes:
        image: whether the image goes along.
        insecure: whether plain http may be used over a network.
    """

    image: bool = True
    insecure: bool = False


@dataclass(frozen=True)
class Pushed:
    """What stands in the registry; `image` is None when none was pushed."""

    bundle: Sent
    image: Sent | None


def push(bundle: Bundle, word: str, options: PushOptions, sink: Sink) -> Pushed:
    """Push the image under the tag ID12, then the bundle under ID12.bundle.

    Raises:
        registry-reference: `word` is no repository. bundle-damaged: a file is not as it was packed.
        bundle-thin: its wheels are not here. image-not-here: the image's layers are nowhere to be had.
        registry-…: see `repro.registry`.
    """
    reference = _repository(word)
    need_wheels(bundle, "a push")
    check_whole(bundle, sink)
    image = _image(bundle, sink) if options.image else None
    connection = Connection(reference, insecure=options.insecure, writing=True)
    try:
        pusher = Pusher(connection, paths.cache(), sink)
        tag = bundle.manifest.id[:12]
        sent = pusher.image(image, tag) if image else None
        return Pushed(_told(_bundle(bundle, pusher, tag), sink), _told(sent, sink) if sent else None)
    finally:
        connection.close()


def _repository(word: str) -> Reference:
    found = registry.parse(word)
    if found.tag or found.digest:
        raise ReproError(
            "registry-reference",
            f"`{word}` names more than a repository",
            found=f"tag `{found.tag}`" if found.tag else f"digest `{found.digest}`",
            needs="the repository alone: the bundle's id is the tag",
            done="nothing was sent",
            tries=[f"repro push BUNDLE {found.place}"],
        )
    return found


def _image(bundle: Bundle, sink: Sink) -> OciImage | None:
    if bundle.manifest.image is None:
        sink(Note("warning", "the bundle was made without an engine: it has no image to push"))
        return None
    from repro.pipeline.images import stored

    return stored(bundle, DockerEngine(), sink)


def _bundle(bundle: Bundle, pusher: Pusher, tag: str) -> Sent:
    manifest = bundle.manifest
    packed = registry.pack(
        bundle.path,
        {entry.path: entry.sha256 for entry in manifest.files},
        list(_beside(bundle)),
        [name for name in names.FOLDERS if (bundle.path / name).is_dir()],
        oci.Blobs(paths.cache()),
        {
            "org.opencontainers.image.title": manifest.name,
            "org.opencontainers.image.version": manifest.id[:12],
            "org.opencontainers.image.revision": bundle.snapshot.commit,
        },
    )
    return pusher.push("bundle", packed.manifest, packed.blobs, tag + BUNDLE_SUFFIX)


def _beside(bundle: Bundle) -> Iterator[str]:
    """Signature, seed checkpoint and reference: the files of them that are plain and finished; no runs."""
    if (bundle.path / names.SIGNATURE).is_file():
        yield names.SIGNATURE
    for part in names.BESIDE:
        if part == "runs":
            continue
        for path in sorted((bundle.path / part).rglob("*")):
            if (
                path.is_file()
                and not path.is_symlink()
                and not any(p.startswith(".part-") for p in path.parts)
            ):
                yield path.relative_to(bundle.path).as_posix()


def _told(sent: Sent, sink: Sink) -> Sent:
    if sent.before:
        text = f"`{sent.reference}` was {sent.before[:19]} before; that is still there by its digest"
        sink(Note("note", text))
    return sent
