"""The text for whoever finds the bundle without this tool: one way with Docker, one without."""

from repro.image.naming import image_tag
from repro.image.plain.dockerfile import DockerfileFacts, template_text


def reproducing(given: DockerfileFacts, *, vendored: bool = False) -> str:
    """The text of `REPRODUCING.md`."""
    return template_text(
        "REPRODUCING.md.j2",
        given,
        tag=image_tag(given.name, given.id),
        base_is_local="@" not in given.base and not vendored,
        vendored=vendored,
    )
