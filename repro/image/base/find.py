"""The image that a bundle's image starts from: the user's own, or one that holds the asked Python."""

from pathlib import Path

from repro import paths
from repro.engine.contract import ImageEngine, ImageInfo
from repro.errors import ReproError
from repro.events import Note, Sink
from repro.image.base.layers import VENDORED, base_blobs, base_image, inherited
from repro.image.base.python_inside import ImagePython, python_of
from repro.image.base.sources import official
from repro.image.naming import base_tag, short_version
from repro.model import canonical
from repro.model.bundle import Base
from repro.model.project import Dependencies
from repro.oci.blobs import Blobs


def find_base(dependencies: Dependencies, engine: ImageEngine, sink: Sink) -> Base:
    """The base image for these dependencies, held by the engine and with the asked Python in it.

    Without a base in the settings: the official image of that Python when it is held, else
    `repro-base:X.Y` made on this machine (said in a note), else the official one, pulled.

    Raises:
        base-not-found, registry-unreachable: no such image here, and none could be pulled.
        base-wrong-python: it holds another Python, or one without venv.
        base-python-unset: neither a base nor a Python is asked for.
    """
    if dependencies.base:
        asked = dependencies.base
        held = engine.find(asked) or _pull(asked, dependencies.python, engine, sink)
        used = _name(held, asked, engine)
    else:
        asked = official(dependencies.python)
        used, held = _default(asked, dependencies.python, engine, sink)
    _check_python(python_of(held, engine), dependencies.python, used)
    return Base(
        asked=asked,
        used=used,
        id=held.id,
        repo_digest=_repo_digest(held, used),
        layers=list(held.layers),
        config=inherited(held),
        architecture=held.architecture,
    )


def present_base(base: Base, python: str, folder: Path, engine: ImageEngine, sink: Sink) -> ImageInfo:
    """The bundle's base image in this engine: held, loaded from the bundle's own copy of it, or pulled.

    Raises:
        base-not-found, base-changed: the engine has none, or another one under that name.
    """
    reference = from_reference(base, python)
    held = engine.find(base.id) or engine.find(reference)
    if held is None and (folder / VENDORED).is_dir():
        blobs = Blobs(paths.cache())
        image = base_image(base, base_blobs(base, blobs, None, sink, folder))
        held = engine.load(image, vendored_name(base), sink)
    if held is None and base.repo_digest:
        held = engine.pull(reference, sink)
    short = base.id.removeprefix("sha256:")[:12]
    if held is None:
        raise ReproError(
            "base-not-found",
            f"the bundle's base image `{reference}` is not held by this engine",
            needs=f"image {short}",
            tries=[f"repro base create --python {python}", f"docker image tag {short} {reference}"],
        )
    if list(held.layers) != base.layers:
        raise ReproError(
            "base-changed",
            f"`{reference}` is another image now than when the bundle was made",
            found=f"image {held.id.removeprefix('sha256:')[:12]}",
            needs=f"image {short}",
            why="the base is part of the bundle's identity",
            tries=[
                f"docker image tag {short} {reference}",
                "repro build      (a new bundle, on the new base)",
            ],
        )
    return held


def from_reference(base: Base, python: str) -> str:
    """What stands after FROM: the registry's digest, else the local name, since BuildKit takes no ids.

    A bundle that was made without any engine has no base image yet: the one asked for, or the official one.
    """
    if not base.layers:
        return base.asked or official(python)
    return base.repo_digest or base.used


def vendored_name(base: Base) -> str:
    """The name under which a bundle's own copy of its base image is loaded."""
    return f"repro-base:{canonical.digest(base.layers)[:12]}"


def _default(asked: str, python: str, engine: ImageEngine, sink: Sink) -> tuple[str, ImageInfo]:
    if held := engine.find(asked):
        return asked, held
    own = base_tag(python)
    if held := engine.find(own):
        sink(
            Note(
                "note",
                f"base image `{own}`, made on this machine, stands for `{asked}`, which is not held here",
            )
        )
        return own, held
    return asked, _pull(asked, python, engine, sink)


def _pull(reference: str, python: str, engine: ImageEngine, sink: Sink) -> ImageInfo:
    try:
        return engine.pull(reference, sink)
    except ReproError as problem:
        if problem.code not in ("base-not-found", "registry-unreachable"):
            raise
        version = short_version(python) if python else "X.Y"
        tries = [
            f"repro base create --python {version}      (from Debian packages, without a registry)",
            'set `base = "IMAGE"` below [dependencies]: any image held here with this Python',
            f"docker pull {reference}",
        ]
        raise ReproError(
            problem.code,
            problem.message,
            found=problem.found,
            needs=problem.needs,
            done=problem.done,
            tries=tries,
        ) from problem


def _name(held: ImageInfo, asked: str, engine: ImageEngine) -> str:
    """A name for FROM. BuildKit takes no image id there, so an image asked for by id gets a name."""
    if asked in held.tags or not held.id.removeprefix("sha256:").startswith(asked.removeprefix("sha256:")):
        return asked
    if held.tags:
        return held.tags[0]
    name = f"repro-base:{held.id.removeprefix('sha256:')[:12]}"
    engine.tag(held.id, name)
    return name


def _repo_digest(held: ImageInfo, used: str) -> str:
    """The registry's digest under the name that was used; another repository's would be a guess."""
    if "@" in used:
        return used
    name, colon, tag = used.rpartition(":")
    repository = name if colon and "/" not in tag else used
    return next((digest for digest in held.repo_digests if digest.partition("@")[0] == repository), "")


def _check_python(inside: ImagePython, asked: str, used: str) -> None:
    wanted = asked.split(".") if asked else []
    if inside.version and inside.version.split(".")[: len(wanted)] == wanted and inside.has_venv:
        return
    raise ReproError(
        "base-wrong-python",
        f"base image `{used}` does not hold what the environment is made with",
        found=[
            f"`python3` in it: {inside.version or 'none'}",
            f"module `venv`: {'yes' if inside.has_venv else 'no'}",
        ],
        needs=f"Python {asked or '3.6 or later'} as `python3`, with `venv` (Debian: python3-venv)",
        tries=[
            f"repro base create --python {short_version(asked) if asked else 'X.Y'}",
            "set `base` or `python` below [dependencies] in repro.toml",
        ],
    )
