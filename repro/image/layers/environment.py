"""The layers of /opt/env: one for each large wheel, one for the rest.

Large wheels come first and the largest lowest, since engines know a layer by the chain below it: so torch is
one layer that all bundles of a user share.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from repro.events import Note
from repro.files import folder_aside
from repro.image.layers import bypip
from repro.image.layers import skeleton as skeletons
from repro.image.layers.piece import Piece
from repro.image.layers.skeleton import Skeleton
from repro.image.layers.wheel import UnusualError, unpacked_bytes
from repro.image.layers.wheels import check_apart, compiled_of, key_of, missing_of, pieces_of, targets_of
from repro.image.layers.workshop import Workshop
from repro.model.lock import Lock
from repro.tarball import Member

LARGE_BYTES = 48 << 20  # unpacked; below it a layer of its own costs more than it saves
_MOST_LAYERS = 64  # engines take about 127 in all


@dataclass(frozen=True)
class EnvLayer:
    """One layer: the piece and the wheels in it; `large` when it is a single large wheel."""

    piece: Piece
    key: object
    wheels: list[str]
    large: bool


def layers(shop: Workshop, lock: Lock) -> list[EnvLayer]:
    """The layers of the environment, from the lowest on.

    Raises:
        layer-make-failed: the base image's Python could not make its part.
        wheel-broken: a locked file is no wheel.
    """
    known = _known(shop, lock)
    if known:
        return known
    found = _new(shop, lock)
    shop.pieces.note(_all_key(shop, lock), [[layer.key, layer.wheels, layer.large] for layer in found])
    return found


def _all_key(shop: Workshop, lock: Lock) -> list[object]:
    installer = lock.installer.sha256 if lock.installer else ""
    return ["environment", sorted(w.sha256 for w in lock.wheels), installer, shop.base_key, lock.python]


def _known(shop: Workshop, lock: Lock) -> list[EnvLayer]:
    """The same environment's layers from another time, when all of them are still here."""
    noted = shop.pieces.noted(_all_key(shop, lock)) or []
    found = [(shop.pieces.find(key), key, wheels, large) for key, wheels, large in noted]
    return (
        [EnvLayer(piece, key, wheels, large) for piece, key, wheels, large in found if piece]
        if all(piece for piece, *_rest in found)
        else []
    )


def _new(shop: Workshop, lock: Lock) -> list[EnvLayer]:
    try:
        return _by_wheel(shop, lock)
    except UnusualError as problem:
        shop.sink(Note("note", f"the environment is made by pip, in a container: {problem}"))
        return [_whole(shop, lock)]


def _by_wheel(shop: Workshop, lock: Lock) -> list[EnvLayer]:
    wheels = [*([lock.installer] if lock.installer else []), *lock.wheels]
    with folder_aside(shop.scratch, "layers") as aside:
        skeleton = skeletons.known(shop.base_key, shop.pieces)
        missing = missing_of(shop, lock, skeleton, wheels) if skeleton else wheels
        compiled = compiled_of(shop, lock, missing, aside.path, environment=skeleton is None)
        skeleton = skeleton or skeletons.keep(shop.base_key, shop.pieces, compiled)
        targets = targets_of(shop, lock, skeleton)
        laid = [wheel for wheel in wheels if not skeleton.has(wheel)]
        made = pieces_of(shop, laid, targets, compiled)
    check_apart(laid, made)
    sizes = {wheel.file: unpacked_bytes(shop.path(wheel)) for wheel in laid}
    ranked = sorted(laid, key=lambda wheel: (-sizes[wheel.file], wheel.name))
    large = [wheel for wheel in ranked if sizes[wheel.file] >= LARGE_BYTES][:_MOST_LAYERS]
    small = [wheel for wheel in laid if wheel not in large]
    replaced = {wheel.name for wheel in laid}
    lowest = [EnvLayer(made[w.file], key_of(shop, w, targets[w.file]), [w.file], large=True) for w in large]
    return [*lowest, _merged(shop, skeleton, replaced, [(w.file, made[w.file]) for w in small])]


def _merged(
    shop: Workshop, skeleton: Skeleton, replaced: set[str], small: Sequence[tuple[str, Piece]]
) -> EnvLayer:
    """The layer of the empty environment and all small wheels."""
    digests = [piece.blob.digest for _file, piece in small]
    key = ["rest", skeleton.piece.blob.digest, sorted(replaced & skeleton.names), digests]

    @contextmanager
    def given() -> Iterator[list[Member]]:
        yield [*skeleton.without(replaced), *(m for _file, piece in small for m in piece.members())]

    return EnvLayer(shop.pieces.get(key, given), key, [file for file, _piece in small], large=False)


def _whole(shop: Workshop, lock: Lock) -> EnvLayer:
    """One layer, as pip makes it."""
    files = [*([lock.installer.file] if lock.installer else []), *(wheel.file for wheel in lock.wheels)]
    return EnvLayer(bypip.piece_of(shop, lock), bypip.key_of(shop, lock), files, large=False)
