"""What sets of version specifiers allow together: whether anything, and which is the newest."""

import re
from collections.abc import Iterable


def _points(specs: Iterable[str]) -> list[str]:
    """Versions at, just above and just below every bound; one of them is allowed wherever anything is."""
    points = ["0", "9999"]
    for version in re.findall(r"\d[\w.!+]*", ",".join(specs)):
        bare = version.rstrip(".")
        points += [bare, f"{bare.split('+')[0]}.0.1", f"{bare.split('+')[0]}.1"]
        points += _below(bare)
    return points


def _below(version: str) -> list[str]:
    found = re.match(r"(?P<start>(?:\d+\.)*)(?P<last>\d+)", version)
    if not found or not int(found["last"]):
        return []
    return [f"{found['start']}{int(found['last']) - 1}.999"]


def allowed(specs: Iterable[str], more: Iterable[str] = ()) -> list[str]:
    """Versions, among those that matter, which all specifiers allow; none when they contradict one another.

    Args:
        specs: such as `>=1.7,<2`; one that is no specifier set allows everything.
        more: versions that are tried as well.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    specs = [s for s in specs if s]
    sets = []
    for spec in specs:
        try:
            sets.append(SpecifierSet(spec))
        except InvalidSpecifier:
            continue
    found = []
    for point in dict.fromkeys([*more, *_points(specs)]):
        try:
            version = Version(point)
        except InvalidVersion:
            continue
        if all(s.contains(version, prereleases=True) for s in sets):
            found.append(point)
    return found


def newest_within(spec: str, versions: str) -> bool:
    """Whether the newest version that `spec` allows is one of `versions`: `<2.1` and `>=2,<2.2`."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    inside = allowed([spec], _points([versions]))
    return bool(inside) and SpecifierSet(versions).contains(max(map(Version, inside)), prereleases=True)
