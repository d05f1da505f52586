"""From a bundle to an image: base images, layers, the plain Dockerfile beside them, the try-out."""

from repro.image.assemble import Assembled, assemble
from repro.image.base.create import create_base
from repro.image.base.find import find_base
from repro.image.base.layers import VENDORED, base_blobs, layers_of
from repro.image.base.vendor import vendor
from repro.image.build import Made, build, held_image
from repro.image.contents import Contents
from repro.image.layers.piece import Pieces
from repro.image.naming import image_tag
from repro.image.plain.dockerfile import DockerfileFacts, dockerignore, facts, render
from repro.image.plain.lay import NAMES, lay
from repro.image.plain.reproducing import reproducing
from repro.image.tree import Line, differences, tree_digest, tree_lines, tree_of

__all__ = [
    "NAMES",
    "VENDORED",
    "Assembled",
    "Contents",
    "DockerfileFacts",
    "Line",
    "Made",
    "Pieces",
    "assemble",
    "base_blobs",
    "build",
    "create_base",
    "differences",
    "dockerignore",
    "facts",
    "find_base",
    "held_image",
    "image_tag",
    "lay",
    "layers_of",
    "render",
    "reproducing",
    "tree_digest",
    "tree_lines",
    "tree_of",
    "vendor",
]
