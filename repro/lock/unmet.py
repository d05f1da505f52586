"""Errors for a version or file that cannot be had: what was asked, what is offered, for which Pythons."""

import re

from repro import redact
from repro.errors import ReproError
from repro.lock.index import Offer, Shelf, version_of
from repro.lock.place import Target
from repro.lock.requests import Requirement
from repro.tables.torchbuilds import releases


def admits(offer: Offer, target: Target) -> bool:
    """Whether the offer's Python range admits the target's; a range that cannot be read does."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if not offer.requires_python:
        return True
    try:
        return SpecifierSet(offer.requires_python).contains(target.python, prereleases=True)
    except InvalidSpecifier:
        return True


def versions_of(offers: list[Offer]) -> list[str]:
    """Versions in the files' names, oldest first."""
    from packaging.version import Version

    return sorted({version_of(o.file) for o in offers} - {""}, key=Version)


def no_project(requirement: Requirement, shelf: Shelf) -> ReproError:
    """The error for a name that no source knows."""
    asked = [s.name or s.url for s in shelf.sources if not requirement.source or s.name == requirement.source]
    return ReproError(
        "lock-no-project",
        f"no source offers a project called `{requirement.name}`",
        found=[f"{requirement.place}: {requirement.text}", *(f"asked: {redact.text(a)}" for a in asked)],
        needs="an index or folder that has it",
        done="nothing was downloaded",
        tries=[
            f"correct the name at {requirement.place}",
            "name its index with `dependencies.extra_index_urls` in repro.toml",
        ],
    )


def no_version(name: str, spec: str, offers: list[Offer], target: Target, place: str) -> ReproError:
    """The error for a version that no source offers, with those that are offered."""
    seen = versions_of(offers)
    shown = seen if len(seen) <= 12 else [*seen[:2], "...", *seen[-8:]]
    wanted = spec.removeprefix("==")
    near = _neighbours(seen, wanted) if spec.startswith("==") else []
    pythons = [o for o in offers if version_of(o.file) == wanted and not admits(o, target)]
    if pythons:
        return no_wheel(name, wanted, pythons, target, place)
    return ReproError(
        "lock-no-version",
        f"no version of `{name}` fits `{name}{spec}`",
        found=[
            f"{place}: {name}{spec}" if place else f"{name}{spec}",
            f"offered: {', '.join(shown) or 'none'}",
        ],
        needs="a version that is offered; one that was removed must not be fetched elsewhere",
        done="nothing was downloaded",
        tries=[f"write `{name}=={version}`" for version in near] or ["name another index in repro.toml"],
    )


def _neighbours(seen: list[str], wanted: str) -> list[str]:
    from packaging.version import InvalidVersion, Version

    try:
        pivot = Version(wanted)
    except InvalidVersion:
        return seen[-1:]
    below = [v for v in seen if Version(v) < pivot]
    above = [v for v in seen if Version(v) > pivot]
    return below[-1:] + above[:1]


def no_wheel(name: str, version: str, offers: list[Offer], target: Target, place: str) -> ReproError:
    """The error for a version that has files, none of which the target can install."""
    pythons = pythons_of(name, version, offers)
    have = (
        f"{name} {version} has wheels for Python {', '.join(pythons)}"
        if pythons
        else f"{name} {version} has no wheel at all"
    )
    ranges = sorted({o.requires_python for o in offers if o.requires_python})
    minor = target.minor
    other = [] if minor not in pythons else [f"none for `{target.platform}` with {target.libc}"]
    return ReproError(
        "lock-no-wheel",
        f"no file of `{name} {version}` can be installed on Python {minor}",
        found=[
            have,
            *(f"it says: Requires-Python {r}" for r in ranges[:2]),
            *other,
            *([f"asked at {place}"] if place else []),
        ],
        needs=f"a wheel for Python {minor} on {target.platform}",
        done="nothing was downloaded; no other version was taken in its place",
        tries=[f'set `dependencies.python = "{pythons[-1]}"` in repro.toml']
        if pythons and not other
        else [f"choose another {name}"],
    )


def pythons_of(name: str, version: str, offers: list[Offer]) -> list[str]:
    """Python minors for which a version has wheels: from the files' names, for torch from the table too."""
    found = set()
    for offer in offers:
        for major, minor in re.findall(r"-cp(\d)(\d+)-", offer.file):
            found.add((int(major), int(minor)))
    row = releases().get(version.split("+")[0]) if name == "torch" else None
    if row and not found:
        found = {tuple(int(p) for p in minor.split(".")) for minor in row.plain_pythons}  # type: ignore[misc]
    return [f"{a}.{b}" for a, b in sorted(found)]


def hash_mismatch(
    name: str, version: str, place: str, hashes: tuple[str, ...], offers: list[Offer]
) -> ReproError:
    """The error for files whose content is not what the user's file says."""
    return ReproError(
        "lock-hash-mismatch",
        f"no offered file of `{name} {version}` has a hash that {place or 'the file'} allows",
        found=[f"{o.file} sha256:{o.sha256}" for o in offers[:6]],
        needs=list(hashes[:6]),
        why="the file was changed after the hash was written, or the hash belongs to another file",
        done="nothing was installed",
        tries=["take the hashes out, if they are not to be trusted: the lock computes its own"],
    )
