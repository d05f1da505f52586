"""Packages that bring one file for each CUDA version, from `data/extensions.toml`: which file has what."""

from functools import cache

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from repro.check.known.policy import exact
from repro.model.record import Record
from repro.tables.read import table


class Variant(Record, kw_only=True):
    """Files of the releases from `since` to `until`, one for each CUDA in `cudas`, all with the same targets.

    Attributes:
        nearest: the loader takes the nearest CUDA of the same major where torch's own has no file.
    """

    name: str
    since: str
    until: str
    cudas: tuple[str, ...]
    archs: tuple[str, ...]
    source: str
    nearest: bool = False


def variants(name: str, version: str) -> list[Variant]:
    """Files of one release by CUDA version; empty when nothing is known of them."""
    asked = exact(version)
    return [row for row in _variants() if asked and row.name == canonicalize_name(name) and _has(row, asked)]


def variants_are_all(name: str, version: str) -> bool:
    """Whether the rows of `variants` are all files of the release: its wheel was read."""
    asked = exact(version)
    rows = [row for row in table("extensions")["variants_read"] if row["name"] == canonicalize_name(name)]
    return any(asked == Version(release) for row in rows for release in row["releases"])


def release_with_variant(name: str, cuda: str) -> str:
    """The first release known to have a file for a CUDA version; empty when none is."""
    since = [row.since for row in _variants() if row.name == canonicalize_name(name) and cuda in row.cudas]
    return min(since, key=Version, default="")


def _has(row: Variant, release: Version) -> bool:
    return Version(row.since) <= release <= Version(row.until)


@cache
def _variants() -> list[Variant]:
    return msgspec.convert(table("extensions")["variant"], list[Variant])
