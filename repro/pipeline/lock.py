"""Locks a project's dependencies on their own, and proves that they install."""

from pathlib import Path

from repro import image, paths
from repro import lock as locks
from repro.engine.contract import EngineName
from repro.events import Sink, silent, step
from repro.files import folder_aside, write_whole
from repro.model import canonical
from repro.model.lock import Lock
from repro.model.project import Project
from repro.pipeline.build import own_folder
from repro.pipeline.place import choose


def lock(
    project: Project, engine: EngineName, out: Path | None, sink: Sink = silent, *, relock: bool = False
) -> tuple[Lock, Path]:
    """The proved lock, and the folder that holds requirements.lock, lock.json and wheels/."""
    target = out or own_folder(project) / "lock"
    python = project.settings.dependencies.python
    place = choose(engine, python)
    with folder_aside(target.parent, "lock") as aside:
        base = image.find_base(project.settings.dependencies, place.images, sink).id if place.images else ""
        where = locks.Place(place.engine, base, python)
        with step(sink, "lock") as shown:
            made = locks.resolve(
                project, locks.read(project), where, aside.path, paths.cache(), sink, fresh=relock
            )
            shown.cached, shown.detail = made.cached, f"{len(made.lock.wheels)} packages for Python {python}"
        with step(sink, "proof") as shown:
            proved = locks.prove(made.lock, aside.path, where, sink)
            shown.detail = "installed offline with hashes, pip check passed"
        write_whole(aside.path / "lock.json", canonical.pretty(proved))
        aside.replace(target)
    return proved, target
