"""From a bundle to an image: base images, the Dockerfile, the build, the try-out."""

from repro.image.base import find_base
from repro.image.build import build
from repro.image.create import create_base
from repro.image.dockerfile import DockerfileFacts, dockerignore, facts, render
from repro.image.lay import lay
from repro.image.naming import image_tag
from repro.image.reproducing import reproducing

__all__ = [
    "DockerfileFacts",
    "build",
    "create_base",
    "dockerignore",
    "facts",
    "find_base",
    "image_tag",
    "lay",
    "render",
    "reproducing",
]
