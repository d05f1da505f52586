"""Chooses the one file for a pinned version as pip would, and says why when there is none."""

from dataclasses import dataclass

from repro.lock.index import Offer, Shelf, version_of
from repro.lock.place import Target
from repro.lock.requests import Requirement
from repro.lock.unmet import admits, hash_mismatch, no_project, no_version, no_wheel, versions_of


@dataclass(frozen=True)
class Wanted:
    """A pinned project. `only`: the source it must come from. `hashes`: what the user's file allows."""

    name: str
    version: str
    only: str = ""
    hashes: tuple[str, ...] = ()
    place: str = ""


def choose(shelf: Shelf, wanted: Wanted, target: Target) -> Offer:
    """The best wheel for the target, or the source archive when no wheel fits.

    Raises:
        lock-no-wheel, lock-no-version, lock-hash-mismatch, or what kept a source from answering.
    """
    from packaging.version import Version

    version = str(Version(wanted.version))
    named = shelf.offers(wanted.name, wanted.only)
    offers = [o for o in named if version_of(o.file) == version and admits(o, target)]
    if not offers:
        raise_unanswered(shelf)
        raise no_version(wanted.name, f"=={wanted.version}", named, target, wanted.place)
    allowed = [
        o for o in offers if not wanted.hashes or not o.sha256 or f"sha256:{o.sha256}" in wanted.hashes
    ]
    if not allowed:
        raise hash_mismatch(wanted.name, wanted.version, wanted.place, wanted.hashes, offers)
    order = {tag: rank for rank, tag in enumerate(target.tags)}
    wheels = [(rank, o) for o in allowed if (rank := tag_rank(o.file, order)) is not None]
    if wheels:
        best = min(rank for rank, _ in wheels)
        return _nearest([o for rank, o in wheels if rank == best])
    archive = next((o for o in allowed if not o.file.endswith(".whl")), None)
    if archive is None:
        raise_unanswered(shelf)
        raise no_wheel(wanted.name, wanted.version, offers, target, wanted.place)
    return archive


def _nearest(offers: list[Offer]) -> Offer:
    """The first offer, or a file of this machine that is the same in every byte, to spare the download."""
    first = offers[0]
    return next((o for o in offers if o.path and o.sha256 and o.sha256 == first.sha256), first)


def raise_unanswered(shelf: Shelf) -> None:
    """Raise the first problem of a source that did not answer, if there is one."""
    for problem in shelf.problems.values():
        raise problem


def tag_rank(file: str, order: dict[str, int]) -> tuple[int, tuple[int, str]] | None:
    """How well a wheel fits: smaller is better, higher build numbers first; None when it does not fit."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    if not file.endswith(".whl"):
        return None
    try:
        _, _, build, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    ranks = [order[str(tag)] for tag in tags if str(tag) in order]
    number = int(build[0]) if build else 0
    return (min(ranks), (-number, str(build))) if ranks else None


def check_direct(shelf: Shelf, requirement: Requirement, target: Target) -> None:
    """Stop before any download when no offered file can meet a requirement.

    Raises:
        lock-no-project, lock-no-version, lock-no-wheel, or what kept a source from answering.
    """
    from packaging.specifiers import SpecifierSet

    offers = shelf.offers(requirement.name, requirement.source)
    if not offers:
        raise_unanswered(shelf)
        raise no_project(requirement, shelf)
    allowed = SpecifierSet(requirement.spec)
    fitting = [
        o for o in offers if version_of(o.file) and allowed.contains(version_of(o.file), prereleases=True)
    ]
    if not fitting:
        raise_unanswered(shelf)
        raise no_version(requirement.name, requirement.spec, offers, target, requirement.place)
    order = {tag: rank for rank, tag in enumerate(target.tags)}
    usable = [
        o for o in fitting if admits(o, target) and (not o.file.endswith(".whl") or tag_rank(o.file, order))
    ]
    if not usable:
        raise_unanswered(shelf)
        newest = versions_of(fitting)[-1]
        raise no_wheel(
            requirement.name,
            newest,
            [o for o in fitting if version_of(o.file) == newest],
            target,
            requirement.place,
        )


def newest_at_source(shelf: Shelf, requirement: Requirement, target: Target) -> str:
    """Newest version that the named source offers for the target within the requirement's range, or empty."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    order = {tag: rank for rank, tag in enumerate(target.tags)}
    offers = shelf.offers(requirement.name, requirement.source)
    versions = [
        version_of(o.file)
        for o in offers
        if admits(o, target)
        and tag_rank(o.file, order)
        and SpecifierSet(requirement.spec).contains(version_of(o.file))
    ]
    return max(versions, key=Version, default="")
