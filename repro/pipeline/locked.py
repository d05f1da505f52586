"""Stacks that rest on a lock: of a project that has one, and of a bundle. A wheel is read once, ever."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from repro import lock as locks
from repro.bundle import Bundle
from repro.bundle.find import HOME
from repro.events import Note, Sink, step
from repro.model.binary import WheelFacts
from repro.model.check import Stack
from repro.model.lock import Lock, Wheel
from repro.model.project import Project
from repro.pipeline import stacks
from repro.pipeline.code import with_folder, with_tar
from repro.scan.elf.hold import hold
from repro.scan.package.cache import exports_for, facts_for
from repro.scan.package.wheel import scan_wheel
from repro.scan.source.sources import scan_sources

_SET = msgspec.structs.replace


def project_stack(project: Project, cache: Path, sink: Sink) -> Stack:
    """What is known of a project: from its lock when one was made of these very inputs, else from its files.

    Nothing is downloaded, no engine is asked, and nothing of the project is run.
    """
    wanted = project.settings.dependencies
    with step(sink, "read project") as shown:
        requests = locks.examine(project)
        sources = scan_sources(Path(project.root))
        shown.detail = f"{len(requests.requirements)} dependencies named"
    asked = stacks.of_requests(requests, wanted.python, [wanted.index_url, *wanted.extra_index_urls])
    stack, found = asked, _lock_of(project, requests, cache)
    if found:
        lock, folder = found
        locked = locked_stack(lock, folder, cache, sink, "lock")
        said = {(doubt.code, doubt.where) for doubt in asked.doubts}
        doubts = [*asked.doubts, *(d for d in locked.doubts if (d.code, d.where) not in said)]
        stack = _SET(locked, torch=_SET(locked.torch, where=asked.torch.where), doubts=doubts)
    stack = _SET(
        stack,
        precision=project.settings.protocol.precision,
        detail=wanted.base,  # a `devel` image has nvcc
        system_packages=list(dict.fromkeys([*stack.system_packages, *wanted.system])),
    )
    stack = with_folder(stack, Path(project.root), sources)
    return held(stack, found[0].wheels, cache) if found else stack


def _lock_of(project: Project, requests: locks.Requests, cache: Path) -> tuple[Lock, Path | None] | None:
    """The newest lock of these inputs and this Python, with the folder of its wheels.

    Locks in the project count first. One of the cache counts only where the settings name no index of
    their own, since a lock does not say which indexes were asked.
    """
    wanted = project.settings.dependencies
    own = sorted((Path(project.root) / HOME).glob("*/lock.json"), key=_age, reverse=True)
    others = [] if wanted.index_url or wanted.extra_index_urls or wanted.find_links else _cached(cache)
    for path in [*own, *others]:
        lock = _read(path)
        if lock and lock.inputs == requests.inputs and lock.python == wanted.python:
            return lock, path.parent / "wheels"
    return None


def _cached(cache: Path) -> list[Path]:
    return sorted((cache / "locks").glob("*/lock.json"), key=_age, reverse=True)


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def _read(path: Path) -> Lock | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Lock)
    except (OSError, msgspec.DecodeError):
        return None


def bundle_stack(bundle: Bundle, cache: Path, sink: Sink) -> Stack:
    """What is known of a bundle: its lock and wheels, its code, the precision that its protocol asks for."""
    precision = str(bundle.spec.protocol.get("precision") or "")
    base = bundle.manifest.base.used
    return packed_stack(bundle.lock, bundle.path, cache, sink, precision=precision, base=base)


def packed_stack(lock: Lock, folder: Path, cache: Path, sink: Sink, *, precision: str, base: str) -> Stack:
    """What is known of the folder of a bundle, whole or still being made."""
    stack = locked_stack(lock, folder / "wheels", cache, sink, "bundle")
    stack = _SET(stack, precision=precision, detail=base)  # a `devel` image has nvcc
    return held(with_tar(stack, folder / "code.tar"), lock.wheels, cache)


def locked_stack(lock: Lock, folder: Path | None, cache: Path, sink: Sink, origin: str) -> Stack:
    """The stack of a lock with what its wheels hold."""
    return stacks.with_binaries(stacks.of_lock(lock, origin), read_wheels(lock, folder, cache, sink))


def held(stack: Stack, wheels: Iterable[Wheel | WheelFacts], cache: Path) -> Stack:
    """The stack with extensions held against the names that the torch among `wheels` offers, where known."""
    torch = next((w for w in wheels if w.name == "torch"), None)
    exports = exports_for(torch.sha256, cache) if torch else None
    return _SET(stack, binaries=hold(stack.binaries, exports)) if exports else stack


def read_wheels(lock: Lock, folder: Path | None, cache: Path, sink: Sink) -> list[WheelFacts]:
    """Facts of every wheel, since one for any platform may hold compiled files too."""
    wheels = lock.wheels
    known = {w.file: facts for w in wheels if (facts := facts_for(w.sha256, cache))}
    places = {w.file: _place(w, folder, cache) for w in wheels if w.file not in known}
    if lacking := [file for file, place in places.items() if place is None]:
        sink(Note("warning", f"not read, as they are not on this machine: {', '.join(lacking)}"))
    with step(sink, "read wheels") as shown:
        shown.cached = not places
        for wheel in wheels:
            if place := places.get(wheel.file):
                known[wheel.file] = _scanned(wheel, place, cache, sink)
        found = [known[w.file] for w in wheels if w.file in known]
        shown.detail = stacks.counted(found)
    return found


def _scanned(wheel: Wheel, place: Path, cache: Path, sink: Sink) -> WheelFacts:
    """The facts of the file that is there, which may have been changed since it was locked."""
    facts = scan_wheel(place, cache, sink)
    if facts.sha256 != wheel.sha256:
        said = f"`{wheel.file}` is not the file that was locked: its SHA-256 is another"
        sink(Note("warning", f"{said}; what it holds was judged, `repro verify` says more"))
    return facts


def _place(wheel: Wheel, folder: Path | None, cache: Path) -> Path | None:
    places = [folder / wheel.file] if folder else []
    places.append(cache / "wheels" / wheel.sha256 / wheel.file)
    return next((place for place in places if place.is_file()), None)
