"""What is known of well-known packages with compiled code, from `data/extensions.toml`."""

from functools import cache

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from repro.check.code.containers import chip
from repro.model.record import Record
from repro.tables.read import table


class Known(Record, kw_only=True):
    """A package.

    Attributes:
        native_since: first release with compiled code, empty for all.
        with_torch: its code is linked against torch.
        gpu: it has code for cards; cuda_only: without CUDA it has nothing to offer.
        source_only: the package index has no Linux wheel of it.
        fetches: its setup takes a prebuilt file from the release page where one fits.
        lowest: capability below which releases from `lowest_since` on have no kernels;
            lowest_before: the same for older releases, empty when unknown.
        numpy2: first release built for NumPy 2.
    """

    name: str
    source: str
    native_since: str = ""
    with_torch: bool = False
    gpu: bool = False
    cuda_only: bool = False
    source_only: bool = False
    fetches: bool = False
    lowest: str = ""
    lowest_since: str = ""
    lowest_before: str = ""
    numpy2: str = ""


class Prebuilt(Record, kw_only=True):
    """Prebuilt files of the releases from `since` to `until`, both included.

    Attributes:
        torch, pre_releases: minors of torch that they exist for, and those built against a pre-release only.
        pin: the one torch that the metadata asks for.
        archs: targets of the files; glibc: what they need, empty when unknown.
    """

    name: str
    since: str
    until: str
    source: str
    torch: tuple[str, ...] = ()
    pre_releases: tuple[str, ...] = ()
    pin: str = ""
    archs: tuple[str, ...] = ()
    glibc: str = ""


class Fault(Record, kw_only=True):
    """Known trouble on cards from capability `first` on, in releases before `fixed`."""

    name: str
    first: str
    what: str
    fix: str
    source: str
    fixed: str = ""


def known(name: str) -> Known | None:
    """The package of this name, in any spelling; None when it is not in the table."""
    canonical = canonicalize_name(name)
    return _packages().get(canonical) or _joined().get(canonical.replace("-", ""))


def prebuilt(name: str) -> list[Prebuilt]:
    """Prebuilt files of a package, oldest releases first; empty when nothing is known of them."""
    return _releases().get(canonicalize_name(name), [])


def prebuilt_of(name: str, version: str) -> Prebuilt | None:
    """Prebuilt files of one release; None when the version is not exact or not in the table."""
    asked = exact(version)
    rows = prebuilt(name) if asked else []
    bare = Version(asked.public) if asked else None
    return next((row for row in rows if bare and Version(row.since) <= bare <= Version(row.until)), None)


def faults(name: str, version: str, capability: str) -> list[Fault]:
    """Known trouble of a package on a card, unless the version is sure to be free of it."""
    rows = msgspec.convert(table("extensions")["fault"], list[Fault])
    return [
        row
        for row in rows
        if row.name == canonicalize_name(name)
        and chip(row.first) <= chip(capability)
        and not (row.fixed and surely_from(version, row.fixed))
    ]


def version_for(name: str, version: str, torch: str) -> str:
    """The version asked for; where none is said, the newest release that pins the torch; else empty."""
    if version or not torch:
        return version
    return next((row.until for row in reversed(prebuilt(name)) if row.pin == torch), "")


def third_party_glibc(name: str) -> tuple[str, str]:
    """(glibc that files of the package built by others are known to need, source); empty when unknown."""
    rows = table("extensions")["third_party"]
    return next(((r["glibc"], r["source"]) for r in rows if r["name"] == canonicalize_name(name)), ("", ""))


def exact(version: str) -> Version | None:
    """The one version that the words mean, `2.5.8` or `==2.5.8`; None for a range or none."""
    try:
        return Version(version.strip().removeprefix("===").removeprefix("=="))
    except InvalidVersion:
        return None


def lowest_of(row: Known, version: str) -> str:
    """The capability that a release starts at; empty when nothing is known of it."""
    older = row.lowest_since and surely_before(version, row.lowest_since)
    return row.lowest_before if older else row.lowest


def surely_from(version: str, first: str) -> bool:
    """Whether whatever the words allow is at least the release `first`."""
    one = exact(version)
    if one is not None:
        return one >= Version(first)
    floors = [Version(s.version) for s in _specifiers(version) if s.operator in (">=", "~=", ">")]
    return any(floor >= Version(first) for floor in floors)


def surely_before(version: str, first: str) -> bool:
    """Whether whatever the words allow is older than the release `first`."""
    one = exact(version)
    if one is not None:
        return one < Version(first)
    ends = [(Version(s.version), s.operator) for s in _specifiers(version) if s.operator in ("<", "<=")]
    return any(end < Version(first) or (end == Version(first) and op == "<") for end, op in ends)


def _specifiers(version: str) -> SpecifierSet:
    try:
        return SpecifierSet(version)
    except InvalidSpecifier:
        return SpecifierSet()


@cache
def _packages() -> dict[str, Known]:
    return {row.name: row for row in msgspec.convert(table("extensions")["package"], list[Known])}


@cache
def _joined() -> dict[str, Known]:
    """Packages by their names without dashes, as people write them: `FlashMLA`, `torchscatter`."""
    return {name.replace("-", ""): row for name, row in _packages().items()}


@cache
def _releases() -> dict[str, list[Prebuilt]]:
    found: dict[str, list[Prebuilt]] = {}
    for row in msgspec.convert(table("extensions")["release"], list[Prebuilt]):
        found.setdefault(row.name, []).append(row)
    return found
