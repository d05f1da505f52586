"""Debian packages that a project asks for, as layers between base and environment.

They come from Debian's mirror as it is on that day. So they are made once, kept by the engine under a name of
their own, and are data from then on: a bundle that lists their layers gets these and no others.
"""

import io
from dataclasses import dataclass

from repro import tarball
from repro.engine.contract import ImageEngine, ImageInfo
from repro.errors import ReproError
from repro.events import Note, Sink, step
from repro.image.base.layers import base_blobs, base_image, layers_of
from repro.image.contents import Contents
from repro.model import canonical
from repro.oci.blobs import Blob, Blobs
from repro.tarball import Member


@dataclass(frozen=True)
class System:
    """Id of the image that the environment is made in, and its layers above the base's."""

    image: str
    layers: list[Blob]


def system_of(given: Contents, base_id: str, engine: ImageEngine, blobs: Blobs, sink: Sink) -> System:
    """The base with the lock's Debian packages; the base itself when there are none.

    Raises:
        image-build-failed: apt did not find a package, or no mirror answers.
    """
    packages = given.lock.system
    if not packages:
        return System(base_id, [])
    base = given.manifest.base
    listed = [
        r.digest for r in (given.manifest.image.layers if given.manifest.image else []) if r.role == "system"
    ]
    tag = f"repro-system:{canonical.digest([base.layers, packages, listed])[:12]}"
    held = engine.find(tag)
    if held is None and listed:
        held = _loaded(given, listed, tag, engine, blobs, sink)
    if held is None:
        text = f"Debian packages ({', '.join(packages)}) are fetched as they are today, and kept from then on"
        sink(Note("warning", text))
        with step(sink, "system packages") as shown:
            held = engine.build(_context(base_id, packages, engine), tag, sink, network=True)
            shown.detail = ", ".join(packages)
    above = list(held.layers)[len(base.layers) :]
    return System(held.id, layers_of(above, held.id, blobs, engine, sink, given.folder))


def _loaded(
    given: Contents, listed: list[str], tag: str, engine: ImageEngine, blobs: Blobs, sink: Sink
) -> ImageInfo | None:
    """The image made again from the layers that the bundle lists; None when they are not to be had."""
    base = given.manifest.base
    try:
        above = layers_of(listed, tag, blobs, None, sink, given.folder)
    except ReproError:
        return None
    return engine.load(
        base_image(base, [*base_blobs(base, blobs, engine, sink, given.folder), *above]), tag, sink
    )


def _context(base_id: str, packages: list[str], engine: ImageEngine) -> io.BytesIO:
    """A Dockerfile of two lines; the base goes by a name, since BuildKit takes no ids."""
    name = f"repro-base:{base_id.removeprefix('sha256:')[:12]}"
    engine.tag(base_id, name)
    text = (
        f"FROM {name}\nUSER 0:0\nRUN apt-get update"
        " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "
        f"{' '.join(packages)} && rm -rf /var/lib/apt/lists/*\n"
    )
    out = io.BytesIO()
    tarball.write(out, [Member("Dockerfile", text.encode())])
    out.seek(0)
    return out
