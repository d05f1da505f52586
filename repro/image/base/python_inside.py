"""Which Python an image holds: asked once, by running it, and remembered by image id."""

import contextlib
import json

import msgspec

from repro.engine.contract import ImageEngine, ImageInfo, Job
from repro.files import write_whole
from repro.model import canonical
from repro.model.record import Open
from repro.paths import cache

_MARK = "repro-python "
_SCRIPT = """
import importlib.util, json, platform, sys
has = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
print("repro-python " + json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3], "has_venv": has,
    "libc": " ".join(platform.libc_ver()), "machine": platform.machine()}))
"""


class ImagePython(Open):
    """`version` of `python3` in an image, empty when there is none; `libc` as `glibc 2.36`."""

    version: str = ""
    has_venv: bool = False
    libc: str = ""
    machine: str = ""


def python_of(image: ImageInfo, engine: ImageEngine) -> ImagePython:
    """The `python3` of an image; a container is started only the first time."""
    known = _remembered()
    if image.id in known:
        return known[image.id]
    found = _ask(image, engine)
    write_whole(cache() / "bases.json", canonical.pretty(known | {image.id: found}))
    return found


def _ask(image: ImageInfo, engine: ImageEngine) -> ImagePython:
    pieces: list[bytes] = []
    engine.run(
        Job(image.id, ("-c", _SCRIPT), entrypoint=("python3",), labels={"dev.reprobundle.run": "probe"}),
        pieces.append,
    )
    said = b"".join(pieces).decode("utf-8", "replace").splitlines()
    answers = [line.removeprefix(_MARK) for line in said if line.startswith(_MARK)]
    return msgspec.convert(json.loads(answers[-1]), ImagePython) if answers else ImagePython()


def _remembered() -> dict[str, ImagePython]:
    """What is known by image id; a damaged or missing file means nothing is."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((cache() / "bases.json").read_bytes(), type=dict[str, ImagePython])
    return {}
