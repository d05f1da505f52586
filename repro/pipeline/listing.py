"""A bundle's manifest that came out of a registry, held against what a bundle's folder may hold."""

import msgspec

from repro import registry
from repro.model.bundle import Manifest
from repro.move import names, top_of
from repro.registry import Found, Rules, foreign


def listing(found: Found) -> Manifest:
    """The bundle's manifest, when it is one, and names only what a folder of this tool may hold.

    Raises:
        registry-content: it is none, or names something else.
    """
    try:
        manifest = msgspec.json.decode(found.document, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise foreign("the bundle's manifest", str(problem), "a manifest that this tool can read") from None
    if fault := _fault(manifest, found):
        raise foreign("the bundle's manifest", fault, "one that `repro build` made")
    return manifest


def rules_of(manifest: Manifest) -> Rules:
    """Which files may come in for that manifest: what an import would take."""
    return Rules(
        listed={entry.path: entry for entry in manifest.files},
        fault=names.fault,
        link_fault=names.link_fault,
        collision=lambda given: names.collision([*given, *names.RESERVED]),
        is_beside=names.is_beside,
        folders=names.FOLDERS,
    )


def _fault(manifest: Manifest, found: Found) -> str:
    """What is wrong with a manifest by itself; empty when nothing is."""
    top, listed = top_of(manifest), [entry.path for entry in manifest.files]
    if manifest.schema != 1:
        return f"schema {manifest.schema} is of a newer tool; this one knows 1"
    if manifest.id != manifest.identity.id:
        return f"its id is {manifest.id!a}, and what it is made of gives {manifest.identity.id}"
    if "/" in top or names.fault(top) or top.startswith((".", "-")):
        return f"its name gives the folder {top!a}"
    tag = found.reference.rpartition(":")[2].removesuffix(registry.BUNDLE_SUFFIX)
    if "@" not in found.reference and tag != manifest.id[:12]:
        return f"its id is {manifest.id[:12]}, and its tag {tag!a}"
    if wrong := [name for name in listed if names.is_reserved(name) or names.fault(name)]:
        return f"it lists {wrong[0]!a}"
    if len(set(listed)) != len(listed):
        return "it lists a file twice"
    return ""
