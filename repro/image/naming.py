"""Names of images that this tool makes."""

import re


def image_tag(name: str, bundle_id: str) -> str:
    """`repro/NAME:ID12`, with what a registry would refuse in NAME made a dash."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "bundle"
    return f"repro/{plain}:{bundle_id[:12]}"


def base_tag(python: str) -> str:
    """`repro-base:X.Y`, the name of a base image made on this machine."""
    return f"repro-base:{short_version(python)}"


def short_version(python: str) -> str:
    """`3.11` for `3.11` and for `3.11.7`."""
    return ".".join(python.split(".")[:2])
