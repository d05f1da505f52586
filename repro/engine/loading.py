"""Bring an image into an engine: only what it lacks is sent, and it is proved that it came in.

Some engines say that all went well and fail when a container is made (28.5 with containerd's store): so one
is made, never started, before an image counts.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from repro import oci
from repro.engine import failures
from repro.engine.ownership import OURS, STAGE, owner_labels
from repro.errors import ReproError
from repro.events import Note, Progress, Sink

CREATED = "1980-01-01T00:00:00Z"
# Asking for an image's layers is one request each: over ssh many of them take longer than sending a layer.
_LOOKED_AT = 24
_WORTH_BYTES = 32 << 20  # what is left above a part: below it nothing is sent apart
_NEVER_RUN = ["/never-run"]


def held_layers(api: Any, image: oci.OciImage) -> int:
    """How many of the image's layers, from the lowest on, the engine holds as a chain."""
    wanted = [layer.digest for layer in image.layers]
    most = 0
    for reference in _candidates(api, image):
        chain = _layers(api, reference)
        most = max(most, _common(wanted, chain))
        if most == len(wanted):
            break
    return most


def _candidates(api: Any, image: oci.OciImage) -> Iterator[str]:
    """Images that may share layers: this one, those of the same name, the others; newest first."""
    yield image.config_digest
    yield image.manifest_digest
    title = _title(msgspec.json.decode(image.config)["config"].get("Labels"))
    ranked = sorted(
        api.images(),
        key=lambda found: (
            _title(found.get("Labels")) != title,
            OURS not in (found.get("Labels") or {}),
            -int(found.get("Created", 0)),
        ),
    )
    # Some of each: the name's own images may all be older than a change of the environment.
    own = [found["Id"] for found in ranked if _title(found.get("Labels")) == title]
    rest = [found["Id"] for found in ranked if _title(found.get("Labels")) != title]
    yield from [*own[: _LOOKED_AT // 2], *rest[: _LOOKED_AT // 2]]


def _title(labels: Mapping[str, str] | None) -> str:
    return (labels or {}).get("org.opencontainers.image.title", "")


def _layers(api: Any, reference: str) -> list[str]:
    from docker.errors import ImageNotFound

    try:
        found = api.inspect_image(reference)
    except ImageNotFound:
        return []
    return list(found.get("RootFS", {}).get("Layers") or ())


def _common(wanted: list[str], chain: list[str]) -> int:
    pairs = zip(wanted, chain, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(wanted), len(chain)))


def load(api: Any, image: oci.OciImage, tag: str, held: int, sink: Sink, *, stepwise: bool = False) -> str:
    """Load without the lowest `held` layers, or with all when that fails; the engine's id of the image.

    `stepwise` sends large layers one by one, each as an image of its own for the time being: a connection
    that breaks costs one of them.
    """
    if not stepwise:
        return _whole(api, image, tag, held, sink)
    found = _whole(api, image, tag, held + _in_parts(api, image, held, sink), sink)
    _forget_parts(api, image)
    return found


def _in_parts(api: Any, image: oci.OciImage, held: int, sink: Sink) -> int:
    """Send the layers above `held` that are worth it, each under a name that keeps it there; their number."""
    sent = 0
    for count in range(held + 1, len(image.layers)):
        if sum(layer.bytes for layer in image.layers[count:]) < _WORTH_BYTES:
            break
        part = oci.make(
            {"Labels": {OURS: "1", STAGE: "transfer"}},
            image.layers[:count],
            architecture=str(msgspec.json.decode(image.config)["architecture"]),
            created=CREATED,
            history=["repro: on its way"] * count,
        )
        try:
            _load(api, part, f"{_part_name(image)}-{count}", count - 1, sink)
        except ReproError as problem:
            if problem.code != "image-load-failed":
                raise
            break  # this engine holds the lower layers in another form: the whole is tried without parts
        sent += 1
    return sent


def _part_name(image: oci.OciImage) -> str:
    return f"repro-part:{image.config_digest[7:19]}"


def _forget_parts(api: Any, image: oci.OciImage) -> None:
    """Take the names away, of an interrupted try before, too: the layers are those of the whole image now."""
    from docker.errors import APIError

    for held in api.images(name="repro-part"):
        for name in held.get("RepoTags") or ():
            if name.startswith(_part_name(image)):
                with contextlib.suppress(APIError):
                    api.remove_image(name)


def _whole(api: Any, image: oci.OciImage, tag: str, held: int, sink: Sink) -> str:
    if held:
        try:
            return _load(api, image, tag, held, sink)
        except ReproError as problem:
            if problem.code != "image-load-failed" or any(b.path is None for b in image.layers):
                raise
            text = f"this engine holds layers of `{tag}` in another form: all of them are sent"
            sink(Note("note", text))
    return _load(api, image, tag, 0, sink)


def _load(api: Any, image: oci.OciImage, tag: str, held: int, sink: Sink) -> str:
    total = sum(layer.bytes for layer in image.layers[held:])
    from docker.errors import APIError

    try:
        messages = list(api.load_image(_told(oci.pieces(image, tag, held), total, sink)))
    except APIError as problem:
        raise _failed(tag, str(problem.explanation or problem)) from problem
    said = [str(message["error"]) for message in messages if "error" in message]
    if said:
        raise _failed(tag, said[0])
    found = next((i for i in (image.config_digest, image.manifest_digest) if _is_there(api, i)), "")
    if not found:
        raise _failed(tag, "the engine took the archive, and has no image of its digests")
    name, _, version = tag.rpartition(":")
    api.tag(found, name, version, force=True)  # Podman gives a name of its own
    _prove(api, found, tag)
    return found


def _told(pieces: Iterator[bytes], total: int, sink: Sink) -> Iterator[bytes]:
    done = 0
    for piece in pieces:
        yield piece
        done += len(piece)
        sink(Progress("loading", min(done, total), total, "B"))


def _is_there(api: Any, reference: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        api.inspect_image(reference)
    except ImageNotFound:
        return False
    return True


def _prove(api: Any, image_id: str, tag: str) -> None:
    from docker.errors import APIError

    try:
        made = api.create_container(
            image_id, command=_NEVER_RUN, labels=owner_labels(), network_disabled=True
        )
    except APIError as problem:
        api.remove_image(tag, force=True)  # under its name it would be taken for a good one
        raise _failed(tag, str(problem.explanation or problem)) from problem
    api.remove_container(made["Id"], force=True, v=True)


def _failed(tag: str, text: str) -> ReproError:
    if failures.is_full(text):
        return failures.disk_full(f"loading `{tag}`", text)
    return ReproError(
        "image-load-failed",
        f"the engine did not take image `{tag}`",
        found=failures.last_line(text),
        done="the image's name was not given; layers that arrived may stay with the engine",
        tries=["docker info", "docker system df", "repro doctor"],
    )
