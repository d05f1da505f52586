"""Bundles and their images in a registry: pushed, found, fetched; resumable, over plain requests."""

from repro.registry.artifact import ArtifactManifest, has_beside, pack
from repro.registry.connection import Connection
from repro.registry.download import Downloads, foreign
from repro.registry.fetch import BUNDLE_SUFFIX, Found, find, image_head, layers
from repro.registry.push import Pusher, Sent
from repro.registry.reference import Reference, parse
from repro.registry.unpack import Rules, check, unpack

__all__ = [
    "BUNDLE_SUFFIX",
    "ArtifactManifest",
    "Connection",
    "Downloads",
    "Found",
    "Pusher",
    "Reference",
    "Rules",
    "Sent",
    "check",
    "find",
    "foreign",
    "has_beside",
    "image_head",
    "layers",
    "pack",
    "parse",
    "unpack",
]
