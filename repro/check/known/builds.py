"""The builds that a torch may be: one of the tables, or all that its description allows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from repro.model.check import Torch
from repro.tables import torchbuilds
from repro.tables.read import table
from repro.tables.torchbuilds import Build, Release

# A package of the channel `pytorch`, with no other channel that builds torch beside it.
_ONE_CHANNEL = re.compile(
    r"^(?!.*(?:conda-forge|defaults|anaconda))(?=.*(?:conda|pytorch ?=))", re.IGNORECASE
)


@dataclass(frozen=True)
class Candidate:
    """One build: its version, tag (empty for a conda package), CUDA, targets, and where they were read."""

    version: str
    tag: str
    cuda: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    source: str

    @property
    def name(self) -> str:
        """`torch==1.13.1+cu117`, for a conda package `pytorch 1.13.1 for CUDA 11.7`."""
        if self.tag:
            return f"torch=={self.version}+{self.tag}"
        return f"pytorch {self.version} for CUDA {self.cuda}"


@cache
def known_releases() -> dict[str, Release]:
    """All releases of both tables by version, oldest first."""
    old = msgspec.convert(table("torch_before_1_4")["release"], list[Release])
    return {row.version: row for row in old} | torchbuilds.releases()


def known_release(version: str) -> Release | None:
    """The release for a version as people write it, `1.10` or `1.10.0+cu113`; else None."""
    bare = version.strip().removeprefix("v").partition("+")[0]
    return known_releases().get(bare) or known_releases().get(f"{bare}.0")


def build_with(release: Release, tag: str) -> Build | None:
    """The build of a release with a tag; None when it was not made."""
    return next((build for build in release.builds if build.tag == tag), None)


def candidates(torch: Torch, python: str = "") -> list[Candidate]:
    """Every known build that fits what is said of `torch`: its version or range, tag or CUDA, and index."""
    if not (torch.version or torch.accepts or torch.cuda or torch.index == "default"):
        return []
    releases = [row for row in _releases(torch) if _has_wheel(row, torch, python)]
    made = [
        candidate for row in releases for candidate in (_conda(row) if torch.make == "conda" else _pip(row))
    ]
    fitting = [candidate for candidate in made if _fits(candidate, torch)]
    return fitting or (_for_cuda(torch.cuda) if torch.make == "vendor" else [])


def _for_cuda(cuda: str) -> list[Candidate]:
    """All builds for a CUDA version; where there are none, for the nearest below and above of its major."""
    asked = parsed(cuda)
    if asked is None or "." not in cuda:
        return []
    made = [candidate for row in known_releases().values() for candidate in _pip(row)]
    known = {v for candidate in made if (v := parsed(candidate.cuda)) and v.major == asked.major}
    near = {*sorted(v for v in known if v < asked)[-1:], *sorted(v for v in known if v > asked)[:1]}
    near = {asked} if asked in known else near
    return [candidate for candidate in made if parsed(candidate.cuda) in near]


def conda_recipe(version: str, cuda: str) -> Candidate | None:
    """The package of the channel `pytorch` for a version and a CUDA version; None when no recipe is known.

    The channel had the same CUDA versions as the wheels of a release: from 1.5 on, others were not made.
    """
    if conda_was_not_made(version, cuda):
        return None
    for row in table("conda_builds")["recipe"]:
        if cuda in row["cuda"] and _within(version, row):
            return Candidate(version, "", cuda, tuple(row["sass"]), tuple(row["ptx"]), row["source"])
    return None


def _releases(torch: Torch) -> list[Release]:
    """Releases of the version or range; for a nightly the one that it led to and the one before."""
    rows = list(known_releases().values())
    if torch.accepts:
        return [row for row in rows if _accepted(row.version, torch.accepts)]
    if not torch.version:
        return rows
    version = parsed(torch.version)
    same = [row for row in rows if version and Version(row.version).release[:2] == version.release[:2]]
    exact = known_release(torch.version)
    if exact and not (version and version.is_prerelease):
        return [exact]
    if version is None or not version.is_prerelease:
        return same
    before = [row for row in rows if Version(row.version).release < version.release[:2]][-1:]
    return [*before, *same[:1]]


def _pip(row: Release) -> Iterable[Candidate]:
    for build in row.builds:
        source = f"table of torch releases ({build.arch_source})"
        yield Candidate(row.version, build.tag, build.cuda, build.sass, build.ptx, source)


def _conda(row: Release) -> Iterable[Candidate]:
    made = (conda_recipe(row.version, cuda) for cuda in dict.fromkeys(build.cuda for build in row.builds))
    return [candidate for candidate in made if candidate]


def _fits(candidate: Candidate, torch: Torch) -> bool:
    if torch.cuda and not f"{candidate.cuda}.".startswith(f"{torch.cuda}."):
        return False
    release = known_releases()[candidate.version]
    plain = torch.index == "default" and torch.make in ("", "release") and not torch.cuda
    return not plain or candidate.tag == release.pypi_tag


def _has_wheel(row: Release, torch: Torch, python: str) -> bool:
    """Whether an installer that may choose the version would look at a release."""
    return bool(torch.version) or torch.make == "conda" or not python or python in row.pythons


def conda_was_not_made(version: str, cuda: str) -> bool:
    """Whether the channel `pytorch` is known to have no package of a release for a CUDA version."""
    release, since = known_release(version), parsed(table("conda_builds")["as_wheels_since"])
    if release is None or since is None or Version(release.version) < since or "." not in cuda:
        return False
    return all(build.cuda != cuda for build in release.builds)


def conda_package_is_missing(torch: Torch) -> bool:
    """Whether a package of the channel `pytorch` alone is meant that the channel does not have."""
    said = f"{torch.index} {torch.asked}"
    return (
        torch.make == "conda"
        and bool(_ONE_CHANNEL.search(said))
        and conda_was_not_made(torch.version, torch.cuda)
    )


def _within(version: str, row: dict[str, Any]) -> bool:
    have = parsed(version)
    since, until = parsed(row.get("since", "0")), parsed(row.get("until", "9999"))
    return have is not None and since is not None and until is not None and since <= have < until


def _accepted(version: str, accepts: str) -> bool:
    try:
        return SpecifierSet(accepts).contains(version)
    except InvalidSpecifier:
        return False


def parsed(version: str) -> Version | None:
    """A version to be compared; None when the text is none."""
    try:
        return Version(version)
    except InvalidVersion:
        return None
