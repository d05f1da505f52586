"""A project becomes a bundle: base, snapshot, lock, image, manifest.

Everything is made in a folder aside; only a bundle that is whole, with its
dependencies proved to install, gets its name.
"""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from repro import bundle as bundles
from repro import image, lock, paths, snapshot
from repro.bundle import Bundle
from repro.bundle.find import HOME
from repro.engine.contract import EngineName
from repro.events import Sink, silent, step
from repro.files import Aside, alone, folder_aside, write_whole
from repro.model import canonical
from repro.model.bundle import Base, Manifest, RunSpec
from repro.model.lock import Lock, Proof
from repro.model.project import Project
from repro.model.snapshot import EvalSet, ParamSet, Snapshot
from repro.pipeline.cache import trim
from repro.pipeline.check import Wishes
from repro.pipeline.fit import STACK, Fitness, fitness, renewed
from repro.pipeline.place import Place, choose
from repro.pipeline.sbom import write_sbom
from repro.pipeline.signed import warn_of_renewal
from repro.pipeline.spec import run_spec
from repro.pipeline.vendor import is_old, keep_base, vendored
from repro.trust import Content


@dataclass(frozen=True)
class BuildOptions:
    """What a user may say about one build.

    Attributes:
        out: folder for bundles; None for `.repro` in the project.
        include: untracked files and sibling folders to pack by name.
        sets: parameter overrides, KEY=VALUE, packed into the bundle.
        relock: resolve again although the inputs are unchanged.
        gpus, driver: what to check for, instead of the settings' own targets.
        allow_incompatible: build although a target will fail; the bundle says so.
        vendor: keep the base image's layers in the bundle; None for where torch is older than 2.0, whose
            wheels and base images are the first to go from where they came.
    """

    engine: EngineName = "docker"
    allow_dirty: bool = False
    include: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    out: Path | None = None
    relock: bool = False
    gpus: tuple[str, ...] = ()
    driver: str = ""
    allow_incompatible: bool = False
    vendor: bool | None = None


@dataclass(frozen=True)
class Built:
    """A bundle, its image (None in place), and whether it was there already."""

    bundle: Bundle
    image: image.Made | None
    cached: bool


@dataclass(frozen=True)
class _Parts:
    project: Project
    place: Place
    base: Base
    snapshot: Snapshot
    params: ParamSet
    evalset: EvalSet
    lock: Lock
    spec: RunSpec
    fit: Fitness
    vendor: bool
    sink: Sink = field(default=silent)

    def contents(self, folder: Path, manifest: Manifest) -> image.Contents:
        """What the image is made of."""
        return image.Contents(
            folder, manifest, self.lock, self.snapshot, self.evalset, self.fit.report.arch_list
        )


def build(project: Project, options: BuildOptions, sink: Sink = silent) -> Built:
    """Make the bundle of `project`, or find that it is there already."""
    home = options.out or own_folder(project)
    with folder_aside(home, "build") as aside:
        parts = _gather(project, options, aside.path, sink)
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


def _gather(project: Project, options: BuildOptions, into: Path, sink: Sink) -> _Parts:
    python = project.settings.dependencies.python
    place = choose(options.engine, python)
    with step(sink, "base") as shown:
        base = _base(project, place, sink)
        shown.detail = base.used
    with step(sink, "snapshot") as shown:
        code = snapshot.take_code(project, into, allow_dirty=options.allow_dirty, include=options.include)
        changes = " + changes" if code.patch else ""
        shown.detail = (
            f"commit {code.commit[:12]}{changes}, branch {code.branch or 'none'}, {code.num_files} files"
        )
    with step(sink, "params") as shown:
        params = snapshot.take_params(project, into, options.sets)
        shown.detail = f"{len(params.values)} from {params.file}" if params.file else "none"
    with step(sink, "eval") as shown:
        evalset = snapshot.take_eval(project, into)
        shown.detail = f"{len(evalset.files)} files from {evalset.path}" if evalset.path else "none"
    spec = run_spec(project, params, code.subfolder)
    with step(sink, "lock") as shown:
        requests = lock.read(project)
        where = lock.Place(place.engine, base.id if place.images else "", python)
        locked = lock.resolve(project, requests, where, into, paths.cache(), sink, fresh=options.relock)
        shown.cached = locked.cached
        shown.detail = f"{len(locked.lock.wheels)} packages for Python {locked.lock.python}"
    asked = Wishes(gpus=options.gpus, driver=options.driver)
    fit = fitness(project, locked.lock, into, asked, sink, allowed=options.allow_incompatible)
    if fit.report.arch_list:
        spec = msgspec.structs.replace(spec, arch_list=fit.report.arch_list)
    vendored = is_old(locked.lock) if options.vendor is None else options.vendor
    return _Parts(
        project,
        place,
        base,
        code,
        params,
        evalset,
        locked.lock,
        spec,
        fit,
        vendored and bool(place.images),
        sink,
    )


def _base(project: Project, place: Place, sink: Sink) -> Base:
    if place.images:
        return image.find_base(project.settings.dependencies, place.images, sink)
    libc = place.engine.info().facts.get("libc", "")
    python = project.settings.dependencies.python
    return Base(
        asked=project.settings.dependencies.base,
        used=f"this machine's own Python {python}, {libc}",
        id=f"inplace python-{python} {libc}",
    )


def _finish(parts: _Parts, aside: Aside, target: Path, manifest: Manifest) -> image.Made | None:
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


def _lay(parts: _Parts, folder: Path, manifest: Manifest) -> None:
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


def _prove_in_place(parts: _Parts, folder: Path) -> Proof | None:
    with step(parts.sink, "proof") as shown:
        where = lock.Place(parts.place.engine, "", parts.lock.python)
        proved = lock.prove(parts.lock, folder, where, parts.sink)
        shown.detail = "installed offline with hashes, pip check passed"
    return proved.proof


def _pip(locked: Lock) -> str:
    return locked.installer.version if locked.installer else "as in the base image"


def _again(parts: _Parts, target: Path) -> Built:
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


def _image(parts: _Parts, there: Bundle, *, stale: bool) -> image.Made | None:
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
