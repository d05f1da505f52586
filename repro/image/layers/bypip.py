"""The whole environment as one layer, installed by pip itself in a container without a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repro.files import folder_aside
from repro.image.layers import inside
from repro.image.layers.piece import Piece
from repro.image.layers.workshop import Workshop
from repro.model.lock import Lock, Wheel
from repro.tarball import Member

_INSTALL = [
    *("install", "--no-index", "--find-links", "wheels", "--require-hashes"),
    *("--no-cache-dir", "--no-compile", "-r"),
]


def key_of(shop: Workshop, lock: Lock) -> list[object]:
    """What the piece depends on."""
    wheels = sorted(wheel.sha256 for wheel in _all(lock))
    return ["pip", wheels, shop.base_key, lock.requirements_sha256]


def piece_of(shop: Workshop, lock: Lock) -> Piece:
    """The piece: found, or made. Raises wheel-not-locked, layer-make-failed."""

    @contextmanager
    def given() -> Iterator[list[Member]]:
        for wheel in _all(lock):
            shop.check(wheel)
        with folder_aside(shop.scratch, "pip") as aside:
            calls, lists = _calls(lock, aside.path, shop.folder)
            done = inside.make(
                shop.engine,
                shop.base,
                aside.path,
                {},
                environment=True,
                wheels=[*map(shop.path, _all(lock)), *lists],
                pip=calls,
            )
            yield done.environment

    return shop.pieces.get(key_of(shop, lock), given)


def _all(lock: Lock) -> list[Wheel]:
    return [*lock.wheels, *([lock.installer] if lock.installer else [])]


def _calls(lock: Lock, room: Path, folder: Path) -> tuple[list[list[str]], list[Path]]:
    """Arguments of each call of pip, and the lists of requirements that they name."""
    calls, lists = [], []
    if lock.installer:
        lists.append(room / "installer.lock")
        pin = f"pip=={lock.installer.version} --hash=sha256:{lock.installer.sha256}\n"
        lists[-1].write_text(pin)
        calls.append([*_INSTALL, "wheels/installer.lock"])
    if (folder / "requirements.lock").is_file():
        lists.append(folder / "requirements.lock")
        calls += [[*_INSTALL, "wheels/requirements.lock"], ["check"]]
    return calls, lists
