"""The pieces of wheels: found, or written with bytecode that the base image's own Python compiles."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from repro.events import Progress
from repro.image.layers import inside
from repro.image.layers.piece import Piece
from repro.image.layers.scripts import template_of
from repro.image.layers.skeleton import Skeleton
from repro.image.layers.wheel import ENV, Target, UnusualError, members, placed
from repro.image.layers.workshop import Workshop
from repro.model.lock import Lock, Wheel
from repro.tarball import Member

_SOURCE = re.compile(rf"{ENV}/lib/.*\.py$")
_UNREAD = re.compile(r"/(tests?|testing/_internal)/|/(test_[^/]*|conftest)\.py$|/site-packages/pip/")


def targets_of(shop: Workshop, lock: Lock, skeleton: Skeleton) -> dict[str, Target]:
    """How each wheel is laid: a pip that is itself locked is installed by the environment's first one."""
    first = Target(lock.python, skeleton.template)
    if lock.installer is None:
        return {wheel.file: first for wheel in lock.wheels}
    with shop.opened(lock.installer) as pip:
        second = Target(lock.python, template_of(pip.read))
    return {wheel.file: second for wheel in lock.wheels} | {lock.installer.file: first}


def key_of(shop: Workshop, wheel: Wheel, target: Target) -> list[str]:
    """What the piece of a wheel depends on."""
    return ["wheel", wheel.file, wheel.sha256, shop.base_key, target.python, target.template]


def missing_of(shop: Workshop, lock: Lock, skeleton: Skeleton, wheels: Sequence[Wheel]) -> list[Wheel]:
    """Those wheels that have no piece yet, and are not part of the empty environment."""
    targets = targets_of(shop, lock, skeleton)
    new = [wheel for wheel in wheels if not skeleton.has(wheel)]
    return [wheel for wheel in new if shop.pieces.find(key_of(shop, wheel, targets[wheel.file])) is None]


def compiled_of(
    shop: Workshop, lock: Lock, wheels: Sequence[Wheel], room: Path, *, environment: bool
) -> inside.Made:
    """What only the base image's Python can make, all of it in one container.

    Raises:
        wheel-not-locked, wheel-broken: a file is not the locked one. layer-make-failed: see `inside.make`.
    """
    if not wheels and not environment:
        return inside.Made([], {})
    for wheel in wheels:
        shop.check(wheel)
    shop.sink(Progress("compiling bytecode", 0, 0, "files"))
    target = Target(lock.python, "")
    with ExitStack() as stack:
        sources = {
            wheel.file: list(filter(_is_source, placed(stack.enter_context(shop.opened(wheel)), target)))
            for wheel in wheels
        }
        return inside.make(shop.engine, shop.base, room, sources, environment=environment)


def pieces_of(
    shop: Workshop, wheels: Sequence[Wheel], targets: Mapping[str, Target], compiled: inside.Made
) -> dict[str, Piece]:
    """The piece of each wheel: found, or written with the bytecode that was just compiled."""
    made: dict[str, Piece] = {}
    for number, wheel in enumerate(wheels, 1):
        shop.sink(Progress("writing layers", number, len(wheels), "wheels"))
        target = targets[wheel.file]
        made[wheel.file] = shop.pieces.get(
            key_of(shop, wheel, target), partial(_laid, shop, wheel, target, compiled)
        )
    return made


@contextmanager
def _laid(shop: Workshop, wheel: Wheel, target: Target, compiled: inside.Made) -> Iterator[Sequence[Member]]:
    with shop.opened(wheel) as zipped:
        laid = members(zipped, target)
        code = [compiled.bytecode[n] for m in filter(_is_source, laid) if (n := compiled.name_of(m.name))]
        yield [*laid, *code]


def check_apart(wheels: Sequence[Wheel], made: Mapping[str, Piece]) -> None:
    """Raise UnusualError for two wheels with one file: which of them wins is for pip to say."""
    owners: dict[str, str] = {}
    for wheel in wheels:
        for line in made[wheel.file].lines:
            other = owners.setdefault(line.path, wheel.file)
            if line.what != "folder" and other != wheel.file:
                raise UnusualError(f"`{wheel.file}` and `{other}` both hold `{line.path}`")


def _is_source(member: Member) -> bool:
    """Whether a file gets bytecode. Tests of packages and pip do not: a quarter, which no training reads."""
    return bool(_SOURCE.match(member.name)) and not _UNREAD.search(member.name)
