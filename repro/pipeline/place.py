"""Where work happens: a container engine, or this machine itself."""

from dataclasses import dataclass
from pathlib import Path

from repro.engine.contract import Engine, EngineName, ImageEngine
from repro.engine.docker import DockerEngine
from repro.engine.local import LocalEngine, find_python
from repro.errors import ReproError


@dataclass(frozen=True)
class Place:
    """A chosen engine. `images` is the same engine when it holds images, else None.

    A `remote` one sees no folder of this machine.
    """

    name: EngineName
    engine: Engine
    images: ImageEngine | None
    remote: bool = False


def choose(name: EngineName, python: str, host: str = "") -> Place:
    """The engine of that name, proved to answer; with `host` (`ssh://user@box`) the one of another machine.

    Raises:
        engine-unreachable, engine-permission: Docker or Podman does not answer this user.
        python-missing: in place, no interpreter of the asked version is on this machine.
    """
    if name == "docker":
        docker = DockerEngine(host)
        docker.info()
        return Place(name, docker, docker, remote=docker.remote)
    return Place(name, LocalEngine(interpreter(python)), None)


def engine_or_none() -> DockerEngine | None:
    """The container engine, or None where none answers."""
    engine = DockerEngine()
    try:
        engine.info()
    except ReproError:
        return None
    return engine


def interpreter(python: str) -> Path:
    """Path of an interpreter of the asked version on this machine."""
    found = find_python(python)
    if found is None:
        raise ReproError(
            "python-missing",
            f"no Python {python} is on this machine",
            found="none on PATH nor among the usual version managers",
            needs=f"`python{python}`, since running in place uses the machine's own interpreter",
            tries=[
                f"install Python {python}, then run the same command again",
                "use a Docker engine: --engine docker",
            ],
        )
    return found
