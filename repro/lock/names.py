"""What tables know about names: wrong ones, other systems, leftovers, libraries, removed releases."""

from collections.abc import Callable
from typing import Any

import msgspec

from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Requirement, normal
from repro.lock.table import table


class Judged:
    """Requirements after the name rules, with what they added and took away."""

    def __init__(self, got: Gathered) -> None:
        self.got = got
        self.kept: list[Requirement] = []
        self.left_out: dict[str, str] = {}
        self.system: list[str] = []
        self.old_metadata = False


def judge_names(got: Gathered) -> Judged:
    """Apply the tables to every requirement in turn."""
    judged = Judged(got)
    for requirement in got.requirements:
        kept = _through(judged, requirement)
        if kept is not None:
            judged.kept.append(kept)
    return judged


def _through(judged: Judged, requirement: Requirement) -> Requirement | None:
    for rule in _RULES:
        changed = rule(judged, requirement)
        if changed is None:
            return None
        requirement = changed
    return requirement


def _row(section: str, name: str) -> dict[str, Any] | None:
    rows = {normal(key): row for key, row in table("package_names")[section].items()}
    found: dict[str, Any] | None = rows.get(name)
    return found


def _os_only(judged: Judged, r: Requirement) -> Requirement | None:
    row = _row("os_only", r.name)
    if row is None or r.marker:
        return r
    judged.left_out[r.name] = f"{row['os']} only"
    judged.got.find("os-only-package", r.file, f"{row['os']} only: {r.name} is left out", r.line)
    return None


def _left_over(judged: Judged, r: Requirement) -> Requirement | None:
    row = _row("left_over", r.name)
    if row is None:
        return r
    judged.left_out[r.name] = row["why"]
    judged.got.find("conda-only", r.file, f"{r.name} is {row['why']}; it is left out", r.line)
    return None


def _conda_path(judged: Judged, r: Requirement) -> Requirement | None:
    """A `name @ file:///...` line: the path is the author's; the name may stay."""
    if not r.url.lower().startswith("file:"):
        return r
    got = judged.got
    text = f"{r.name}: a path of the author's own build, which exists nowhere else; the path is dropped"
    got.find("conda-file-url", r.file, text, r.line)
    text = f"the version of {r.name} is not in the line; one that fits the rest is taken, which is a guess"
    got.find(
        "version-lost", r.file, text, r.line, remedy=f"write `{r.name}==VERSION`, if you know which it was"
    )
    return msgspec.structs.replace(r, url="")


def _deprecated(judged: Judged, r: Requirement) -> Requirement | None:
    row = _row("deprecated", r.name)
    if row is None:
        return r
    got, to = judged.got, normal(row["to"])
    if row.get("keep"):
        got.find("deprecated-name", r.file, f"{r.name}: {row['why']}; kept as written", r.line)
        return r
    text = f"{r.name} is {row['why']}; {row['to']} is taken instead" + (
        ", with its own versions" if r.spec else ""
    )
    got.find("deprecated-name", r.file, text, r.line)
    if any(other.name == to for other in got.requirements):
        return None
    # A version of the wrong project says nothing about the right one, but that of an import name may well.
    return msgspec.structs.replace(r, name=to, spec=r.spec if row["why"].startswith("an import name") else "")


def _needs_system(judged: Judged, r: Requirement) -> Requirement | None:
    row = _row("needs_system", r.name)
    if row is None:
        return r
    judged.system += row["debian"]
    text = f"{r.name} needs {row['what']}, which a slim image lacks; Debian: {' '.join(row['debian'])}"
    instead = f"or use {row['instead']} when no window is opened; " if row.get("instead") else ""
    remedy = f"{instead}prove it in the image: python -c 'import {row['module']}'"
    judged.got.find("system-library", r.file, text, r.line, remedy=remedy)
    return r


def _removed(judged: Judged, r: Requirement) -> Requirement | None:
    for row in table("removed_releases")["release"]:
        if r.name == row["name"] and r.pinned in row["versions"]:
            text = (
                f"{r.name} {r.pinned} is no longer offered ({row['why']}); it must not be fetched elsewhere"
            )
            remedy = f"{r.name}=={row['clean']} is the last clean one before it"
            judged.got.find("removed-release", r.file, text, r.line, severity=ERROR, remedy=remedy)
    return r


def _old_metadata(judged: Judged, r: Requirement) -> Requirement | None:
    from packaging.specifiers import SpecifierSet

    for row in table("old_metadata")["release"]:
        if (
            r.name == row["name"]
            and r.pinned
            and SpecifierSet(row["versions"]).contains(r.pinned, prereleases=True)
        ):
            chain = " -> ".join([f"{r.name} {r.pinned}", *row["below"]])
            text = f"{chain}: `{row['culprit']}` says `{row['says']}`, which pip 24.1 and newer refuse"
            remedy = "the lock and the image use pip 24.0 for it; nothing else is changed"
            judged.got.find("invalid-metadata", r.file, text, r.line, remedy=remedy)
            judged.old_metadata = True
    return r


_RULES: list[Callable[[Judged, Requirement], Requirement | None]] = [
    _os_only, _conda_path, _left_over, _deprecated, _needs_system, _removed, _old_metadata,
]  # fmt: skip
