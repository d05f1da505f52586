"""The text for whoever finds the bundle without this tool: one way with Docker, one without."""

from repro.image.dockerfile import DockerfileFacts, template_text
from repro.image.naming import image_tag


def reproducing(given: DockerfileFacts) -> str:
    """The text of `REPRODUCING.md`."""
    return template_text(
        "REPRODUCING.md.j2",
        given,
        tag=image_tag(given.name, given.id),
        base_is_local="@" not in given.base,
        installer_pin=given.installer.partition(" ")[0],
    )
