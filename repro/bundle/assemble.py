"""Makes the manifest of a folder that holds all parts of a bundle."""

from collections.abc import Iterator
from pathlib import Path

from repro import __version__
from repro.bundle.runtime import runtime_digests
from repro.files import sha256_bytes, sha256_file, write_whole
from repro.model import canonical
from repro.model.bundle import Base, Identity, Manifest, RunSpec
from repro.model.image import ImageContent
from repro.model.lock import Lock
from repro.model.snapshot import EvalSet, FileEntry, ParamSet, Snapshot
from repro.paths import template_folder

# Made after the manifest, and what a file of `repro export` adds where `tar` unpacked it.
NOT_LISTED = (
    "bundle.json",
    "image.json",
    "signature.json",
    "runs",
    "seed",
    "reference",
    "thin.json",
    "export.json",
    "image.tar.zst",
)


def identity_of(
    *, snapshot: Snapshot, params: ParamSet, evalset: EvalSet, spec: RunSpec, lock: Lock, base: Base
) -> Identity:
    """The digests of what decides a result; their digest is the bundle's id.

    The commit is left out on purpose: two commits with the same files are the same code.
    """
    return Identity(
        tree=snapshot.tree,
        patch=snapshot.patch.sha256 if snapshot.patch else "",
        lock=lock.requirements_sha256,
        params=canonical.digest(params.values),
        eval=canonical.digest([evalset.path, evalset.files]),
        protocol=canonical.digest(spec),
        base=canonical.digest(base.layers) if base.layers else base.id,
        runtime=runtime_digest(),
    )


def runtime_digest() -> str:
    """Digest over what stands around the code: the runtime's files and the Dockerfile's template."""
    template = template_folder() / "Dockerfile.j2"
    return canonical.digest({**runtime_digests(), template.name: sha256_file(template)})


def assemble(
    folder: Path, *, name: str, identity: Identity, base: Base, image: ImageContent | None = None
) -> Manifest:
    """Write `bundle.json` over everything that lies in `folder`, and return it."""
    manifest = Manifest(
        id=identity.id,
        name=name,
        tool=f"repro {__version__}",
        identity=identity,
        base=base,
        image=image,
        files=list(_entries(folder)),
    )
    write_whole(folder / "bundle.json", canonical.pretty(manifest))
    return manifest


def _entries(folder: Path) -> Iterator[FileEntry]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if relative.parts[0] in NOT_LISTED or path.is_dir():
            continue
        yield FileEntry(path=relative.as_posix(), bytes=path.lstat().st_size, sha256=content_sha256(path))


def content_sha256(path: Path) -> str:
    """Digest of a file's content, or of where a link points."""
    if path.is_symlink():
        return sha256_bytes(str(path.readlink()).encode("utf-8", "surrogateescape"))
    return sha256_file(path)
