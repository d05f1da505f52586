"""Gets manifests, and images by their digest, out of a repository; nothing counts that has another digest."""

import re
from dataclasses import dataclass

import msgspec

from repro.errors import ReproError
from repro.files import sha256_bytes
from repro.model.image import ImageContent
from repro.oci import Blob, OciImage
from repro.oci.image import digest_of
from repro.registry.artifact import ArtifactManifest, no_bundle, read
from repro.registry.connection import Connection
from repro.registry.download import Downloads, check_digest, foreign, read_at_most
from repro.registry.push import ACCEPT

BUNDLE_SUFFIX = ".bundle"
_MOST = 4 << 20  # what registries take of a manifest (distribution specification 1.1)
_MOST_LISTED = 64 << 20
_BUNDLE_TAG = re.compile(r"[0-9a-f]{12}\.bundle")


@dataclass(frozen=True)
class Found:
    """A bundle in a registry: the artifact's manifest with its digest, and the bytes of `bundle.json`."""

    reference: str
    digest: str
    artifact: ArtifactManifest
    document: bytes


def find(connection: Connection, downloads: Downloads) -> Found:
    """The bundle that the connection's reference means; without tag and digest the only one that is there.

    Raises:
        registry-no-bundle: there is none of that name, something else has it, or several are there.
        registry-content: what came has another digest. registry-…: as `Connection.ask`.
    """
    word = connection.reference.digest or _tag(connection)
    place = f"{connection.reference.place}{'@' if word.startswith('sha256:') else ':'}{word}"
    data = manifest(connection, word)
    if data is None:
        raise _unknown(connection, place)
    artifact = read(data, place)
    document = downloads.small(artifact.config.digest, artifact.config.size, _MOST_LISTED)
    return Found(place, f"sha256:{sha256_bytes(data)}", artifact, document)


def manifest(connection: Connection, word: str) -> bytes | None:
    """The manifest of a tag or digest, held against its digest; None when there is none.

    Raises:
        registry-content: its digest is another one than it was asked for, or than the registry says.
    """
    reply = connection.ask(
        "GET", f"manifests/{word}", f"asking for `{word}`", expect=(200, 404), headers=ACCEPT, stream=True
    )
    if reply.status_code == 404:
        reply.close()
        return None
    data = read_at_most(reply, _MOST + 1)
    if len(data) > _MOST:
        raise foreign(f"manifest `{word}`", f"more than {_MOST} bytes", f"at most {_MOST} bytes")
    said = word if word.startswith("sha256:") else reply.headers.get("Docker-Content-Digest", "")
    if said and digest_of(data) != said:
        raise foreign(f"manifest `{word}`", f"digest {digest_of(data)}", f"digest {said}")
    return data


def layers(image: OciImage, downloads: Downloads, held: int) -> OciImage:
    """The image with its layers here, but for the lowest `held`, which are left as they are."""
    fetched = [downloads.fetch(layer.digest, layer.bytes) for layer in image.layers[held:]]
    return OciImage(image.config, image.manifest, (*image.layers[:held], *fetched))


def image_head(connection: Connection, downloads: Downloads, content: ImageContent) -> OciImage | None:
    """The image that a bundle's manifest names, without its layers' content; None when it is not there.

    Raises:
        registry-content: something of it is not as the bundle's manifest says.
    """
    check_digest(content.manifest)
    data = manifest(connection, content.manifest)
    if data is None:
        return None
    try:
        stated = msgspec.json.decode(data, type=ArtifactManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise foreign("the image's manifest", str(problem), "a manifest as OCI has it") from None
    wanted = [(row.digest, row.bytes) for row in content.layers]
    if [(row.digest, row.size) for row in stated.layers] != wanted:
        raise foreign("the image's manifest", "other layers", "those of the bundle's manifest")
    config = downloads.small(content.config, stated.config.size, _MOST)
    if stated.config.digest != content.config or _diff_ids(config) != [digest for digest, _size in wanted]:
        raise foreign("the image's configuration", "other layers", "those of the bundle's manifest")
    return OciImage(config, data, tuple(Blob(digest, size) for digest, size in wanted))


def _diff_ids(config: bytes) -> object:
    try:
        return msgspec.json.decode(config)["rootfs"]["diff_ids"]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        return None


def _tag(connection: Connection) -> str:
    """The tag of the bundle that is meant."""
    tag = connection.reference.tag
    if tag:
        return tag if tag.endswith(BUNDLE_SUFFIX) else tag + BUNDLE_SUFFIX
    here = _bundles(connection)
    if len(here) != 1:
        found = [f"{connection.reference.place}:{name}" for name in here[:8]] or "no bundle in it"
        raise no_bundle(connection.reference.place, found)
    return here[0]


def _bundles(connection: Connection) -> list[str]:
    """Tags of all bundles in the repository."""
    reply = connection.ask("GET", "tags/list", "asking for the list of tags")
    try:
        tags = reply.json()["tags"] or []
    except (ValueError, KeyError, TypeError):
        tags = []
    return sorted(tag for tag in tags if isinstance(tag, str) and _BUNDLE_TAG.fullmatch(tag))


def _unknown(connection: Connection, place: str) -> ReproError:
    here = _bundles(connection)
    others = [f"{connection.reference.place}:{tag}" for tag in here[:8]]
    return no_bundle(place, "; ".join(["nothing has that name", *others]))
