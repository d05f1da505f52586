"""A bundle that may be run: held against its manifest, with its image or its environment at hand."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repro import paths
from repro import run as runs
from repro.bundle import Bundle, need_wheels, verify
from repro.bundle.verify import Damage
from repro.engine.contract import EngineName, Job, Stop
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.events import Sink, step
from repro.pipeline.images import image_for
from repro.pipeline.place import Place, choose
from repro.run import Ended, RunOptions
from repro.run.cards import cards
from repro.snapshot import change_params

GIVEN = "given"


@dataclass(frozen=True)
class Ready:
    """A bundle at a place: id of its image, empty in place; interpreter of its environment there."""

    bundle: Bundle
    place: Place
    image: str = ""
    python: Path = Path()

    def new_id(self, options: RunOptions) -> str:
        """An id for one more run."""
        if self.place.remote:  # which card is there, its record tells
            card = "cpu" if options.gpus == "none" else "remote"
        else:
            found = cards() if options.gpus != "none" else []
            card = found[0].name if found else "cpu"
        return runs.new_run_id(self.bundle.manifest.name, card, options.label)

    def perform(
        self,
        folder: Path,
        run_id: str,
        options: RunOptions,
        sink: Sink,
        *,
        sets: Sequence[str] = (),
        stop: Stop | None = None,
    ) -> Ended:
        """Run it in `folder`, which is removed when nothing came to run in it.

        Raises:
            params-set, params-set-unknown: an override does not fit the bundle's parameters.
            run-refused, run-program-failed, run-out-of-memory: see `repro.run.start`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        left = False
        try:
            if sets:
                change_params(self.bundle.path, self.bundle.params, folder / GIVEN, sets)
                options = replace(options, params=GIVEN)
            return runs.start(
                self.place.engine, self._job(folder, run_id, options), folder, run_id, options, sink, stop
            )
        except ReproError as problem:
            left = problem.code == "run-connection-lost"
            raise
        finally:
            if not left and not any(folder.glob("attempt-*")):
                shutil.rmtree(folder, ignore_errors=True)  # nothing ran: what lies there is no run

    def follow(self, folder: Path, run_id: str, options: RunOptions, sink: Sink) -> Ended:
        """Follow the container of a run that was left on another machine; its record comes into `folder`."""
        if not isinstance(self.place.engine, DockerEngine):
            raise TypeError("only a container is followed")
        engine, job = self.place.engine, self._job(folder, run_id, options)
        folder.mkdir(parents=True, exist_ok=True)
        return runs.follow(lambda take: engine.attach(job.name, job, take), folder, run_id, options, sink)

    def _job(self, folder: Path, run_id: str, options: RunOptions) -> Job:
        if self.image:
            if options.gpus == "all" and not self.place.remote:
                options = replace(options, gpu_count=len(cards()))
            job = runs.container_job(self.image, folder, run_id, options, self.place.engine.info().kind)
            return runs.away(job) if self.place.remote else job
        return runs.inplace_job(self.bundle.path, self.python, folder, run_id, options)


def ready(bundle: Bundle, engine: EngineName, sink: Sink, host: str = "") -> Ready:
    """The bundle, ready to run on that engine; with `host` on that of another machine.

    Raises:
        bundle-damaged: a file is not as it was packed. bundle-not-built: this engine has no image of it, and
            none can be made of the bundle. image-altered: it has another one under that name.
        environment-failed, bundle-thin: in place, its wheels cannot be installed, or are not here.
    """
    place = choose(engine, bundle.lock.python, host)
    check_whole(bundle, sink)
    if place.images:
        return Ready(bundle, place, image=image_for(bundle, place.images, sink, remote=place.remote))
    need_wheels(bundle, "an environment in place")
    python = runs.environment(bundle.path, bundle.lock, place.engine, paths.cache() / "envs", sink)
    return Ready(bundle, place, python=python)


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
