"""Runs a bundle once, in a container or in place."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from repro import paths
from repro import run as runs
from repro.bundle import Bundle, verify
from repro.bundle.verify import Damage
from repro.engine.contract import EngineName, ImageEngine, Job
from repro.errors import ReproError
from repro.events import Sink, silent, step
from repro.image import image_tag
from repro.pipeline.place import Place, choose
from repro.run import Ended, RunOptions
from repro.run.cards import cards
from repro.snapshot import change_params

GIVEN = "given"


def run(
    bundle: Bundle,
    engine: EngineName,
    options: RunOptions,
    sink: Sink = silent,
    *,
    sets: Sequence[str] = (),
    out: Path | None = None,
) -> Ended:
    """Run `bundle` and return the finished run.

    `sets` are parameters to change for this run, KEY=VALUE, and recorded. The run's folder is made in `out`,
    else in the bundle's `runs`.

    Raises:
        params-set, params-set-unknown: an override does not fit the bundle's parameters.
        bundle-damaged: a file is not as it was packed. bundle-not-built: this engine has no image of it.
        run-refused, run-program-failed, run-out-of-memory: see `repro.run.start`.
    """
    place = choose(engine, bundle.lock.python)
    check_whole(bundle, sink)
    found = cards() if options.gpus != "none" else []
    run_id = runs.new_run_id(bundle.manifest.name, found[0].name if found else "cpu", options.label)
    folder = (out or bundle.path / "runs") / run_id
    folder.mkdir(parents=True)
    try:
        if sets:
            change_params(bundle.path, bundle.params, folder / GIVEN, sets)
            options = replace(options, params=GIVEN)
        if place.images:
            job = _container(bundle, place.images, folder, run_id, options)
        else:
            job = _inplace(bundle, place, folder, run_id, options, sink)
        return runs.start(place.engine, job, folder, run_id, options, sink)
    finally:
        if not any(folder.glob("attempt-*")):
            shutil.rmtree(folder, ignore_errors=True)  # nothing ran: what lies there is no run


def check_whole(bundle: Bundle, sink: Sink) -> None:
    """Hold the bundle against its manifest before anything of it runs."""
    with step(sink, "verify") as shown:
        damage = verify(bundle, sink)
        shown.detail = f"{len(bundle.manifest.files)} files as packed"
        if damage:
            raise damaged(bundle, damage)


def damaged(bundle: Bundle, damage: list[Damage]) -> ReproError:
    """The error that names every damaged file."""
    return ReproError(
        "bundle-damaged",
        f"bundle `{bundle.path.name}` is not what was packed: {len(damage)} differences",
        found=[f"{d.path}: {d.kind}, {d.found}" for d in damage[:10]],
        needs=[f"{d.path}: {d.needed}" for d in damage[:10]],
        done="nothing was run",
        tries=["fetch the bundle again", "repro build"],
    )


def _container(bundle: Bundle, engine: ImageEngine, folder: Path, run_id: str, options: RunOptions) -> Job:
    tag = image_tag(bundle.manifest.name, bundle.manifest.id)
    found = engine.find(tag)
    if found is None or found.labels.get("dev.reprobundle.id") != bundle.manifest.id:
        raise ReproError(
            "bundle-not-built",
            f"this engine has no image of bundle `{bundle.path.name}`",
            found=f"no image `{tag}`",
            tries=[f"docker build -t {tag} {bundle.path}", "repro run --engine inplace"],
        )
    return runs.container_job(found.id, folder, run_id, options, engine.info().kind)


def _inplace(bundle: Bundle, place: Place, folder: Path, run_id: str, options: RunOptions, sink: Sink) -> Job:
    python = runs.environment(bundle.path, bundle.lock, place.engine, paths.cache() / "envs", sink)
    return runs.inplace_job(bundle.path, python, folder, run_id, options)
