"""A project becomes a bundle: base, snapshot, lock, image, manifest.

Everything is made in a folder aside; only a bundle that is whole, with its
dependencies proved to install, gets its name.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from repro import bundle as bundles
from repro import image, lock, paths
from repro.bundle import Bundle
from repro.bundle.find import HOME
from repro.events import Sink, silent, step
from repro.files import Aside, alone, folder_aside, write_whole
from repro.model import canonical
from repro.model.bundle import Manifest
from repro.model.lock import Lock, Proof
from repro.model.project import Project
from repro.pipeline.cache import trim
from repro.pipeline.fit import STACK, renewed
from repro.pipeline.gather import BuildOptions, Parts, gather
from repro.pipeline.sbom import write_sbom
from repro.pipeline.signed import warn_of_renewal
from repro.pipeline.vendor import keep_base, vendored
from repro.trust import Content


@dataclass(frozen=True)
class Built:
    """A bundle, its image (None in place), and whether it was there already."""

    bundle: Bundle
    image: image.Made | None
    cached: bool


def build(project: Project, options: BuildOptions, sink: Sink = silent) -> Built:
    """Make the bundle of `project`, or find that it is there already."""
    home = options.out or own_folder(project)
    with folder_aside(home, "build") as aside:
        parts = gather(project, options, aside.path, sink)
        identity = bundles.identity_of(
            snapshot=parts.snapshot,
            params=parts.params,
            evalset=parts.evalset,
            spec=parts.spec,
            lock=parts.lock,
            base=parts.base,
        )
        target = home / f"{project.settings.name}-{identity.id[:12]}"
        manifest = Manifest(
            id=identity.id, name=project.settings.name, tool="", identity=identity, base=parts.base, files=[]
        )
        with alone(target):  # of two builds of one bundle at once, the second finds what the first made
            if (target / "bundle.json").is_file():
                return _again(parts, target)
            record = _finish(parts, aside, target, manifest)
    trim(paths.cache())
    return Built(bundles.open_bundle(target), record, cached=False)


def own_folder(project: Project) -> Path:
    """`.repro` in the project, which ignores itself so that it never makes the tree dirty."""
    home = Path(project.root) / HOME
    if not (home / ".gitignore").exists():
        write_whole(home / ".gitignore", b"*\n")
    return home


def _finish(parts: Parts, aside: Aside, target: Path, manifest: Manifest) -> image.Made | None:
    folder = aside.path
    made: image.Made | None = None
    proof: Proof | None = None
    if parts.vendor:
        keep_base(parts.contents(folder, manifest), [], parts.place.images, parts.sink)
    _lay(parts, folder, manifest)
    if parts.place.images:
        with step(parts.sink, "image") as shown:
            made = image.build(parts.contents(folder, manifest), parts.place.images, parts.sink)
            shown.detail = made.record.tag
        if parts.vendor:
            keep_base(parts.contents(folder, manifest), made.content.layers, parts.place.images, parts.sink)
        proof = Proof(where=f"image {made.record.tag}", python=parts.lock.python, pip=_pip(parts.lock))
        write_whole(folder / "image.json", canonical.pretty(made.record))
    else:
        proof = _prove_in_place(parts, folder)
    write_whole(folder / "lock.json", canonical.pretty(msgspec.structs.replace(parts.lock, proof=proof)))
    with step(parts.sink, "bundle") as shown:
        content = made.content if made else None
        bundles.assemble(
            folder, name=manifest.name, identity=manifest.identity, base=parts.base, image=content
        )
        aside.become(target)
        shown.detail = str(target.name)
    return made


def _lay(parts: Parts, folder: Path, manifest: Manifest) -> None:
    """Write the files that the stages before did not: runtime, protocol, identity, Dockerfile, SBOM."""
    bundles.lay_runtime(folder)
    write_whole(folder / "protocol.json", canonical.pretty(parts.spec))
    for name, data in parts.fit.files.items():
        write_whole(folder / name, data)
    write_whole(
        folder / "identity.json",
        canonical.pretty({"id": manifest.id, "name": manifest.name, "identity": manifest.identity}),
    )
    image.lay(folder, manifest, parts.lock, parts.snapshot, parts.fit.report.arch_list)
    content = Content(folder, manifest, parts.snapshot, parts.lock, parts.params, parts.evalset)
    write_sbom(content, parts.place.images, parts.sink)


def _prove_in_place(parts: Parts, folder: Path) -> Proof | None:
    with step(parts.sink, "proof") as shown:
        where = lock.Place(parts.place.engine, "", parts.lock.python)
        proved = lock.prove(parts.lock, folder, where, parts.sink)
        shown.detail = "installed offline with hashes, pip check passed"
    return proved.proof


def _pip(locked: Lock) -> str:
    return locked.installer.version if locked.installer else "as in the base image"


def _again(parts: Parts, target: Path) -> Built:
    """A bundle that exists, with what the check says of today's targets, which decide no result."""
    there = bundles.open_bundle(target)
    with renewed(there, parts.fit) as renewal:
        made = _image(parts, there, stale=STACK in renewal.changed)
        if made:
            renewal.image = made.content
            if parts.vendor and not (target / image.VENDORED).is_dir():
                renewal.added = vendored(
                    parts.contents(target, there.manifest), made, parts.place.images, parts.sink
                )
    warn_of_renewal(target, parts.sink)
    return Built(bundles.open_bundle(target), made, cached=True)


def _image(parts: Parts, there: Bundle, *, stale: bool) -> image.Made | None:
    """The image of a bundle that exists: found, or made again when this engine lost it or it is `stale`."""
    if not parts.place.images:
        return None
    # What the bundle was made with goes on: its snapshot may be that of another commit with the same files.
    with step(parts.sink, "image") as shown:
        made = image.build(
            image.Contents(
                there.path,
                there.manifest,
                there.lock,
                there.snapshot,
                there.evalset,
                parts.fit.report.arch_list,
            ),
            parts.place.images,
            parts.sink,
            again=stale,
        )
        shown.cached, shown.detail = made.held == len(made.content.layers) and not stale, made.record.tag
    write_whole(there.path / "image.json", canonical.pretty(made.record))
    return made


__all__ = ["BuildOptions", "Built", "build", "own_folder"]
