"""A bundle as an OCI artifact: its manifest is the configuration, large files are blobs, the rest is one tar.

So a wheel that two bundles share is kept once in a repository. What lies beside a bundle without being listed
in it (signature, seed checkpoint, reference) makes a second tar: signing a bundle moves a few kilobytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from repro import tarball
from repro.errors import ReproError
from repro.files import sha256_file
from repro.model import canonical
from repro.model.record import Open
from repro.oci import Blob, Blobs
from repro.oci.image import MANIFEST_TYPE, descriptor
from repro.tarball import Member

ARTIFACT_TYPE = "application/vnd.reprobundle.bundle.v1"
CONFIG_TYPE = "application/vnd.reprobundle.manifest.v1+json"
FILE_TYPE = "application/vnd.reprobundle.file.v1"
LISTED_TYPE = "application/vnd.reprobundle.listed.v1.tar"
BESIDE_TYPE = "application/vnd.reprobundle.beside.v1.tar"
TITLE = "org.opencontainers.image.title"
PROGRAM = "dev.reprobundle.executable"
LARGE = 1_000_000  # bytes from which on a file is a blob of its own


class Descriptor(Open, kw_only=True):
    """OCI's reference to a blob."""

    mediaType: str  # noqa: N815 - OCI's spelling
    digest: str
    size: int
    annotations: dict[str, str] = {}

    @property
    def title(self) -> str:
        """The file's path in the bundle."""
        return self.annotations.get(TITLE, "")


class ArtifactManifest(Open, kw_only=True):
    """OCI's manifest, as far as it is read."""

    config: Descriptor
    layers: list[Descriptor]
    artifactType: str = ""  # noqa: N815


@dataclass(frozen=True)
class Packed:
    """What is pushed for a bundle: the artifact's manifest, and every blob that it names."""

    manifest: bytes
    blobs: tuple[Blob, ...]


def pack(
    folder: Path,
    listed: Mapping[str, str],
    beside: Sequence[str],
    folders: Sequence[str],
    blobs: Blobs,
    annotations: Mapping[str, str],
) -> Packed:
    """Make the artifact of the bundle in `folder`; only its tars are written, into the cache.

    Args:
        folder: of the bundle, held against its manifest before.
        listed: hex SHA-256 of each file by its path, from the manifest.
        beside: paths of the files that travel along.
        folders: folders that may be empty.
        blobs: where the tars are kept.
        annotations: of the artifact, in OCI's words.

    Raises:
        registry-changed: a file is not what the manifest lists.
    """
    config = blobs.put((folder / "bundle.json").read_bytes())
    rows: list[dict[str, object]] = []
    made = [config]
    for kind, names, empty in ((LISTED_TYPE, list(listed), folders), (BESIDE_TYPE, list(beside), ())):
        large = [name for name in names if _is_large(folder / name)]
        small = [name for name in names if name not in set(large)]
        found = list(_large(folder, large, listed))
        if names or empty:  # also of nothing: by its kind one sees that there is something beside
            found.append((_tar(folder, small, empty, listed, blobs), kind, {}))
        rows += [descriptor(word, blob.digest, blob.bytes) | _noted(notes) for blob, word, notes in found]
        made += [blob for blob, _word, _notes in found]
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": descriptor(CONFIG_TYPE, config.digest, config.bytes),
        "layers": rows,
        "annotations": dict(annotations),
    }
    return Packed(canonical.encode(document), tuple({blob.digest: blob for blob in made}.values()))


def read(data: bytes, place: str) -> ArtifactManifest:
    """The artifact that a manifest describes; raises registry-no-bundle when it is none of a bundle."""
    try:
        found = msgspec.json.decode(data, type=ArtifactManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    if found is None or found.config.mediaType != CONFIG_TYPE:
        raise no_bundle(place, found.config.mediaType if found else "no manifest of the form that is needed")
    return found


def has_beside(artifact: ArtifactManifest) -> bool:
    """Whether something travels with the bundle that its manifest does not list."""
    return any(row.mediaType == BESIDE_TYPE for row in artifact.layers)


def no_bundle(place: str, found: str | list[str]) -> ReproError:
    """The error for a reference to something else."""
    return ReproError(
        "registry-no-bundle",
        f"`{place}` is no bundle",
        found=found,
        needs="what `repro push` put there",
        tries=["repro push BUNDLE REFERENCE      (where the bundle lies)", f"docker pull {place}"],
    )


def _noted(notes: Mapping[str, str]) -> dict[str, Any]:
    return {"annotations": dict(notes)} if notes else {}


def _is_large(path: Path) -> bool:
    return not path.is_symlink() and path.stat().st_size > LARGE


def _is_program(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def _large(
    folder: Path, names: Iterable[str], listed: Mapping[str, str]
) -> Iterator[tuple[Blob, str, dict[str, str]]]:
    for name in sorted(names):
        path = folder / name
        sha256 = listed.get(name) or sha256_file(path)
        notes = {TITLE: name} | ({PROGRAM: "true"} if _is_program(path) else {})
        yield Blob(f"sha256:{sha256}", path.stat().st_size, path), FILE_TYPE, notes


def _tar(
    folder: Path, names: Iterable[str], folders: Iterable[str], listed: Mapping[str, str], blobs: Blobs
) -> Blob:
    def told(member: Member, sha256: str) -> None:
        needed = listed.get(member.name)
        if sha256 and needed and sha256 != needed:
            raise _changed(member.name, sha256, needed)

    members = [_member(folder, name) for name in names] + [Member(name) for name in folders]
    with blobs.adding() as out:
        tarball.write(cast("IO[bytes]", out), members, told)
    return out.blob


def _member(folder: Path, name: str) -> Member:
    path = folder / name
    if path.is_symlink():
        return Member(name, link=str(path.readlink()))
    return Member(name, path, executable=_is_program(path))


def _changed(name: str, found: str, needed: str) -> ReproError:
    return ReproError(
        "registry-changed",
        f"`{name}` changed while the bundle was packed",
        found=f"sha256 {found}",
        needs=f"sha256 {needed}",
        done="no tag was set",
        tries=["repro verify", "run the same command again"],
    )
