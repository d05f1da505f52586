"""Whether the places that a lock's files came from still offer them. Nothing is downloaded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from repro.errors import ReproError
from repro.events import Progress, Sink
from repro.lock.pipconf import PipConfig
from repro.lock.web import Missing, Web
from repro.model.lock import Lock, Wheel

State = Literal["there", "gone", "other", "no-answer", "local"]


@dataclass(frozen=True)
class Origin:
    """One file's origin now.

    `there`: an address answers, with the size that was locked. `gone`: it says that there is no such file.
    `other`: a file of another size. `no-answer`: nobody answered, which says nothing. `local`: the file came
    from a folder of the machine that locked it.
    """

    wheel: Wheel
    state: State
    found: str


def origins(lock: Lock, config: PipConfig, sink: Sink) -> Iterator[Origin]:
    """The origin of each locked file, asked by HEAD, in the order of the lock."""
    web = Web(config)
    wheels = [*lock.wheels, *([lock.installer] if lock.installer else [])]
    for number, wheel in enumerate(wheels, 1):
        yield _origin(wheel, web)
        sink(Progress("asking origins", number, len(wheels), "files"))


def _origin(wheel: Wheel, web: Web) -> Origin:
    address = wheel.origin.removeprefix("built from ")  # then the source archive is asked for
    if not address.startswith(("http://", "https://")):
        return Origin(wheel, "local", "it came from a folder of the machine that locked it")
    try:
        reply = web.open(address.partition("#")[0], method="HEAD")
    except Missing as host:
        return Origin(wheel, "gone", f"{host} has no such file any more")
    except ReproError as problem:
        return Origin(wheel, "no-answer", problem.message)
    size = reply.headers.get("Content-Length", "")
    reply.close()
    if address == wheel.origin and size.isdigit() and int(size) != wheel.bytes:
        return Origin(wheel, "other", f"{size} bytes are offered there, {wheel.bytes} were locked")
    return Origin(wheel, "there", "")
