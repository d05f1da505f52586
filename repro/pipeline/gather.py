"""The parts of a bundle, gathered from a project: base, snapshot, parameters, evaluation set, lock, check."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from repro import image, lock, paths, snapshot
from repro.engine.contract import EngineName
from repro.events import Sink, silent, step
from repro.model.bundle import Base, Manifest, RunSpec
from repro.model.lock import Lock
from repro.model.project import Project
from repro.model.snapshot import EvalSet, ParamSet, Snapshot
from repro.pipeline.check import Wishes
from repro.pipeline.fit import Fitness, fitness
from repro.pipeline.place import Place, choose
from repro.pipeline.spec import run_spec
from repro.pipeline.vendor import is_old


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
class Parts:
    """All that a bundle is made of, and where."""

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


def gather(project: Project, options: BuildOptions, into: Path, sink: Sink) -> Parts:
    """Take every part into the folder `into`; raises what the stages raise."""
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
    return Parts(
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
