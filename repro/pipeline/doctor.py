"""Looks at this machine and says what a build and a run would meet. No check changes anything."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from repro import paths
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.run.cards import cards

State = Literal["ok", "warning", "error", "unknown"]
_ROOM_BYTES = 20 * 10**9


@dataclass(frozen=True)
class Finding:
    """One check's answer: what was found, and what would help."""

    check: str
    state: State
    found: str
    tries: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    """What the checks look at: the engine that answered, if one did, and the folder asked about."""

    engine: DockerEngine | None
    start: Path


def examine(start: Path) -> list[Finding]:
    """All findings for this machine and the folder `start`."""
    engine, first = _engine()
    return [first, *(finding for check in _CHECKS for finding in check(Machine(engine, start)))]


def _engine() -> tuple[DockerEngine | None, Finding]:
    try:
        engine = DockerEngine()
        info = engine.info()
    except ReproError as error:
        said = "; ".join([error.message, *error.found])
        return None, Finding("engine", "error", said, [t for t in error.tries if t != "repro doctor"])
    kind = f"{info.kind} {info.version} at {info.endpoint}"
    return engine, Finding("engine", "ok", kind + (", rootless" if info.rootless else ""))


def _bases(machine: Machine) -> Iterator[Finding]:
    if machine.engine is None:
        return
    names = [
        f"{kind}:{version}{tail}"
        for version in ("3.11", "3.12", "3.13")
        for kind, tail in (("python", "-slim-bookworm"), ("repro-base", ""))
    ]
    held = [name for name in names if machine.engine.find(name)]
    if held:
        yield Finding("base image", "ok", ", ".join(held))
    else:
        yield Finding(
            "base image", "warning", "none held yet; a build pulls one", ["repro base create --python 3.11"]
        )


def _leftovers(machine: Machine) -> Iterator[Finding]:
    if machine.engine is None:
        return
    for left in machine.engine.leftovers():
        yield Finding(
            "container",
            "warning",
            f"`{left.name}` still runs though its starter is gone",
            [f"docker stop {left.name}"],
        )


def _pythons(_machine: Machine) -> Iterator[Finding]:
    from repro.engine.local import find_python

    found = [v for v in (f"3.{minor}" for minor in range(6, 15)) if find_python(v)]
    yield Finding(
        "pythons", "ok" if found else "warning", ", ".join(found) or "none found for running in place"
    )


def _git(_machine: Machine) -> Iterator[Finding]:
    path = shutil.which("git")
    if path is None:
        yield Finding("git", "error", "no `git` on PATH", ["apt-get install git"])
        return
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    yield Finding("git", "ok", said)


def _cards(_machine: Machine) -> Iterator[Finding]:
    found = cards()
    for card in found:
        yield Finding(
            "card",
            "ok",
            f"{card.name}, {card.memory_bytes / 2**30:.0f} GiB, {card.capability}, driver {card.driver}",
        )
    if not found:
        yield Finding("card", "ok", "no NVIDIA card here; none is needed to build")


def _disk(machine: Machine) -> Iterator[Finding]:
    for what, path in (("project", machine.start), ("cache", paths.cache())):
        place = path
        while not place.exists():
            place = place.parent
        free = shutil.disk_usage(place).free
        state: State = "ok" if free > _ROOM_BYTES else "warning"
        yield Finding(
            f"disk ({what})",
            state,
            f"{free / 1e9:.1f} GB free; a CUDA build of torch takes about 10 GB in all",
        )


def _pip(_machine: Machine) -> Iterator[Finding]:
    from repro import redact

    keys = (
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_CERT",
        "HTTPS_PROXY",
        "https_proxy",
        "SSL_CERT_FILE",
    )
    said = [f"{key}={redact.text(os.environ[key])}" for key in keys if os.environ.get(key)]
    yield Finding("pip", "ok", ", ".join(said) or "no index, proxy or CA bundle set in the environment")


Check = Callable[[Machine], Iterator[Finding]]
_CHECKS: tuple[Check, ...] = (_bases, _leftovers, _git, _pythons, _cards, _pip, _disk)
