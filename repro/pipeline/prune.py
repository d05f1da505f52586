"""What this tool has left in the engine and in the cache, and what of it may go."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from repro import paths
from repro.engine.contract import OwnImage
from repro.engine.docker import DockerEngine
from repro.errors import ReproError
from repro.pipeline import cache

_DAY = 24 * 3600
_AT_WORK = 600


@dataclass(frozen=True)
class Kept:
    """All that there is: images of the engine (None where none answers), entries of the cache by kind."""

    images: list[OwnImage] | None
    cache: dict[str, tuple[int, int]]
    folder: Path


@dataclass(frozen=True)
class Item:
    """One thing that may go: what it is, its name, the bytes that only it holds, why it may go."""

    kind: str
    name: str
    bytes: int
    why: str
    remove: Callable[[], object]


@dataclass(frozen=True)
class Wish:
    """What may go.

    Attributes:
        keep: newest images of each bundle's name to keep; 0 takes all of them.
        days: entries of the cache unused for so long go.
        all: all our images but base images, and of the cache what was not used within ten minutes, since
            another command may be at work with it.
    """

    keep: int = 3
    days: float = 30
    all: bool = False


def look(engine: DockerEngine | None) -> Kept:
    """What is there now."""
    sizes: dict[str, tuple[int, int]] = {}
    for entry in cache.entries(paths.cache()):
        number, size = sizes.get(entry.kind, (0, 0))
        sizes[entry.kind] = (number + 1, size + entry.bytes)
    return Kept(engine.own_images() if engine else None, sizes, paths.cache())


def candidates(wish: Wish, engine: DockerEngine | None) -> list[Item]:
    """What may go: containers, images, entries of the cache."""
    images = [*_containers(engine), *_images(wish, engine)] if engine else []
    idle = _AT_WORK if wish.all else wish.days * _DAY
    old = [entry for entry in cache.entries(paths.cache()) if entry.idle >= idle]
    why = "all was asked for" if wish.all else f"not used for {wish.days:g} days"
    return [
        *images,
        *(Item(e.kind, e.path.name, e.bytes, why, lambda e=e: cache.remove(e)) for e in old),  # type: ignore[misc]
    ]


def _containers(engine: DockerEngine) -> list[Item]:
    why = "its tool was killed before it could remove it"
    return [
        Item("container", left.name, 0, why, lambda left=left: engine.remove_container(left.id))  # type: ignore[misc]
        for left in engine.leftovers(ended=True)
    ]


def _images(wish: Wish, engine: DockerEngine) -> list[Item]:
    found = [image for image in engine.own_images() if not image.base and not image.used]
    named: dict[str, int] = {}
    items = []
    for image in found:
        number = named[image.title] = named.get(image.title, 0) + 1
        why = ""
        if wish.all:
            why = "all was asked for"
        elif image.passing:
            why = "an interrupted transfer or an old build left it"
        elif not image.tags:
            why = "no name is left for it"
        elif number > wish.keep:
            why = f"{wish.keep} newer ones of {image.title} are here"
        if why:
            name = image.tags[0] if image.tags else image.id.removeprefix("sha256:")[:12]
            items.append(Item("image", name, image.own_bytes, why, lambda i=image: engine.discard(i)))  # type: ignore[misc]
    return items


def remove(items: list[Item]) -> tuple[int, list[str]]:
    """Take them away; bytes given back, and what could not go, in words."""
    freed, failed = 0, []
    for item in items:
        try:
            item.remove()
            freed += item.bytes
        except ReproError as problem:
            failed.append(f"{item.kind} {item.name}: {problem.message}; {'; '.join(problem.found)}")
    return freed, failed
