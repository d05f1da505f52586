"""The layers of /opt/env: one for each large wheel, one for the rest.

Large wheels come first and the largest lowest, since engines know a layer by the chain below it: so torch is
one layer that all bundles of a user share.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from repro.engine.contract import ImageEngine
from repro.errors import ReproError
from repro.events import Note, Progress, Sink
from repro.files import sha256_file
from repro.image.layers import inside
from repro.image.layers.piece import Piece, Pieces
from repro.image.layers.scripts import template_of
from repro.image.layers.skeleton import Skeleton, skeleton_of
from repro.image.layers.wheel import ENV, Target, UnusualError, members, unpacked_bytes
from repro.model.lock import Lock, Wheel
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


@dataclass(frozen=True)
class Workshop:
    """What the layers are made with.

    Attributes:
        folder: of the bundle, with `wheels/`.
        base: the engine's id of the base image; `base_key` names its content on every engine.
    """

    folder: Path
    base: str
    base_key: str
    engine: ImageEngine
    pieces: Pieces
    sink: Sink


def layers(shop: Workshop, lock: Lock) -> list[EnvLayer]:
    """The layers of the environment, from the lowest on.

    Raises:
        layer-make-failed: the base image's Python could not make its part.
        wheel-unreadable: a locked file is no wheel.
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
    skeleton = skeleton_of(shop.engine, shop.base, shop.base_key, shop.pieces)
    new = [wheel for wheel in lock.wheels if not skeleton.has(wheel)]
    try:
        return _by_wheel(shop, lock, skeleton, new)
    except UnusualError as problem:
        shop.sink(Note("note", f"the environment is made by pip, in a container: {problem}"))
        return [_by_pip(shop, lock)]


def _by_wheel(shop: Workshop, lock: Lock, skeleton: Skeleton, new: Sequence[Wheel]) -> list[EnvLayer]:
    targets = _targets(shop, lock, skeleton)
    laid = [*([lock.installer] if lock.installer and not skeleton.has(lock.installer) else []), *new]
    _check_apart(shop, laid, targets)
    made = _pieces(shop, laid, targets)
    sizes = {wheel.file: unpacked_bytes(_path(shop, wheel)) for wheel in laid}
    ranked = sorted(laid, key=lambda wheel: (-sizes[wheel.file], wheel.name))
    large = [wheel for wheel in ranked if sizes[wheel.file] >= LARGE_BYTES][:_MOST_LAYERS]
    small = [wheel for wheel in laid if wheel not in large]
    replaced = {wheel.name for wheel in laid}
    lowest = [EnvLayer(made[w.file], _key(shop, w, targets[w.file]), [w.file], large=True) for w in large]
    return [*lowest, _merged(shop, skeleton, replaced, [(w.file, made[w.file]) for w in small])]


def _targets(shop: Workshop, lock: Lock, skeleton: Skeleton) -> dict[str, Target]:
    """How each wheel is laid: a pip that is itself locked is installed by the environment's first one."""
    first = Target(lock.python, skeleton.template)
    if lock.installer is None:
        return {wheel.file: first for wheel in lock.wheels}
    with ZipFile(_path(shop, lock.installer)) as pip:
        second = Target(lock.python, template_of(pip.read))
    return {wheel.file: second for wheel in lock.wheels} | {lock.installer.file: first}


def _check_apart(shop: Workshop, wheels: Sequence[Wheel], targets: Mapping[str, Target]) -> None:
    """Two wheels with one file: which of them wins is for pip to say."""
    owners: dict[str, str] = {}
    for wheel in wheels:
        with _opened(shop, wheel) as zipped:
            for member in members(zipped, targets[wheel.file]):
                other = owners.setdefault(member.name, wheel.file)
                if other != wheel.file:
                    raise UnusualError(f"`{wheel.file}` and `{other}` both hold `{member.name}`")


def _pieces(shop: Workshop, wheels: Sequence[Wheel], targets: Mapping[str, Target]) -> dict[str, Piece]:
    keys = {wheel.file: _key(shop, wheel, targets[wheel.file]) for wheel in wheels}
    found = {wheel.file: shop.pieces.find(keys[wheel.file]) for wheel in wheels}
    missing = [wheel for wheel in wheels if found[wheel.file] is None]
    made = {file: piece for file, piece in found.items() if piece}
    if not missing:
        return made
    for wheel in missing:
        _check(_path(shop, wheel), wheel)
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="repro-layers-") as room:
        laid = {
            wheel.file: members(stack.enter_context(_opened(shop, wheel)), targets[wheel.file])
            for wheel in missing
        }
        sources = {file: [m for m in group if _is_source(m)] for file, group in laid.items()}
        shop.sink(Progress("compiling bytecode", 0, 0, "files"))
        done = inside.make(shop.engine, shop.base, Path(room), sources, environment=False)
        for number, wheel in enumerate(missing, 1):
            shop.sink(Progress("writing layers", number, len(missing), "wheels"))
            code = [
                done.bytecode[name]
                for m in sources[wheel.file]
                if (name := _cached(m, done)) in done.bytecode
            ]
            group = [*laid[wheel.file], *code]
            made[wheel.file] = shop.pieces.get(keys[wheel.file], lambda group=group: _given(group))  # type: ignore[misc]
    return made


@contextmanager
def _given(group: Sequence[Member]) -> Iterator[Sequence[Member]]:
    yield group


def _check(path: Path, wheel: Wheel) -> None:
    """What pip does with --require-hashes."""
    found = sha256_file(path) if path.is_file() else "no such file"
    if found != wheel.sha256:
        raise ReproError(
            "wheel-not-locked",
            f"`{wheel.file}` is not the file that was locked",
            found=f"sha256 {found}" if path.is_file() else found,
            needs=f"sha256 {wheel.sha256}",
            done="nothing was made",
            tries=["repro verify", "repro build"],
        )


def _is_source(member: Member) -> bool:
    return member.name.endswith(".py") and member.name.startswith(f"{ENV}/lib/")


def _cached(member: Member, done: inside.Made) -> str:
    """Name of the bytecode of a source, whatever the interpreter's tag."""
    folder, _, name = member.name.rpartition("/")
    return done.names.get((folder, name.removesuffix(".py")), "")


def _key(shop: Workshop, wheel: Wheel, target: Target) -> list[str]:
    return ["wheel", wheel.file, wheel.sha256, shop.base_key, target.python, target.template]


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


def _by_pip(shop: Workshop, lock: Lock) -> EnvLayer:
    """The whole environment as one layer, installed by pip itself in a container without a network."""
    wheels = [*lock.wheels, *([lock.installer] if lock.installer else [])]
    key = ["pip", sorted(wheel.sha256 for wheel in wheels), shop.base_key, lock.requirements_sha256]

    @contextmanager
    def given() -> Iterator[list[Member]]:
        for wheel in wheels:
            _check(_path(shop, wheel), wheel)
        with tempfile.TemporaryDirectory(prefix="repro-layers-") as room:
            paths = {wheel.file: _path(shop, wheel) for wheel in wheels}
            calls = _calls(lock, Path(room), shop.folder)
            extra = [Path(room) / "installer.lock", shop.folder / "requirements.lock"]
            done = inside.make(
                shop.engine,
                shop.base,
                Path(room),
                {},
                environment=True,
                wheels=[*paths.values(), *(path for path in extra if path.is_file())],
                pip=calls,
            )
            yield [*done.environment, *done.bytecode.values()]

    return EnvLayer(shop.pieces.get(key, given), key, [wheel.file for wheel in wheels], large=False)


def _calls(lock: Lock, room: Path, folder: Path) -> list[list[str]]:
    install = [
        "install",
        "--no-index",
        "--find-links",
        "wheels",
        "--require-hashes",
        "--no-cache-dir",
        "--no-compile",
    ]
    calls = []
    if lock.installer:
        pin = f"pip=={lock.installer.version} --hash=sha256:{lock.installer.sha256}\n"
        (room / "installer.lock").write_text(pin)
        calls.append([*install, "-r", "wheels/installer.lock"])
    if (folder / "requirements.lock").is_file():
        calls += [[*install, "-r", "wheels/requirements.lock"], ["check"]]
    return calls


def _path(shop: Workshop, wheel: Wheel) -> Path:
    return shop.folder / "wheels" / wheel.file


@contextmanager
def _opened(shop: Workshop, wheel: Wheel) -> Iterator[ZipFile]:
    try:
        with ZipFile(_path(shop, wheel)) as zipped:
            yield zipped
    except (BadZipFile, OSError) as problem:
        raise ReproError(
            "wheel-unreadable",
            f"`{wheel.file}` is no wheel that can be read",
            found=str(problem),
            done="nothing was made",
            tries=["repro verify", "repro build --relock"],
        ) from problem
