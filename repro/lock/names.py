"""What tables know about names: wrong ones, other systems, leftovers, libraries, removed releases."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from repro.lock import traps
from repro.lock.filenames import named_in
from repro.lock.judged import Judged
from repro.lock.pipfile import Gathered
from repro.lock.ranges import newest_within
from repro.lock.requests import ERROR, Requirement, normal
from repro.lock.table import table


def judge_names(got: Gathered, python: str) -> Judged:
    """Apply the tables to every requirement in turn, for a Python minor."""
    judged = Judged(got, python)
    for requirement in got.requirements:
        kept = _through(judged, requirement)
        if kept is not None:
            judged.kept.append(kept)
    _same_module(judged)
    return judged


def _same_module(judged: Judged) -> None:
    for row in table("requirement_traps")["same_module"]:
        same = [r for r in judged.kept if r.name in row["names"]]
        if len({r.name for r in same}) > 1:
            names = " and ".join(dict.fromkeys(r.name for r in same))
            text = f"{names} both bring the module {row['module']}; files of both lie mixed"
            lines = [r.line for r in same if r.file == same[0].file]
            judged.got.find("same-module", same[0].file, text, *lines, remedy="keep one of them")


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


def _within(version: str, versions: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(versions).contains(version, prereleases=True)


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
    if (file := named_in(r.url)) and re.search(r"\.(whl|tar\.gz|zip)$", r.url.split("#")[0]):
        text = f"the version of {r.name} is taken from the name of the file: {file.version}"
        got.find("version-from-file", r.file, text, r.line)
        return msgspec.structs.replace(r, url="", spec=f"=={file.version}")
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
    spec = "" if _is_own_version(r) else r.spec
    how = f", with {spec}" if spec else ", with its own versions" if r.spec else ""
    text = f"{r.name} is {row['why']}; {row['to']} is taken instead{how}"
    got.find("deprecated-name", r.file, text, r.line)
    if any(other.name == to for other in got.requirements):
        return None
    return msgspec.structs.replace(r, name=to, spec=spec)


def _is_own_version(r: Requirement) -> bool:
    """Whether the version is one of the wrong project, which says nothing about the right one."""
    row = table("requirement_traps")["own_versions"].get(r.name)
    return bool(row and r.pinned and re.match(row["versions"], r.pinned))


def _four_parts(_judged: Judged, r: Requirement) -> Requirement | None:
    """`opencv-python==4.5.1` means any of its builds 4.5.1.N, the only ones that there are."""
    names = table("requirement_traps")["four_parts"]["names"]
    if r.name in names and r.pinned.count(".") == 2 and not r.url:
        return msgspec.structs.replace(r, spec=f"=={r.pinned}.*")
    return r


def _needs_system(judged: Judged, r: Requirement) -> Requirement | None:
    row = _row("needs_system", r.name)
    versions = row.get("versions", "") if row else ""
    if row is None or (r.pinned and not _within(r.pinned, versions)):
        return r
    judged.system += row["debian"]
    text = (
        f"{r.name}{versions} needs {row['what']}, which a slim image lacks; Debian: {' '.join(row['debian'])}"
    )
    instead = f"or use {row['instead']} when no window is opened; " if row.get("instead") else ""
    remedy = f"{instead}prove it in the image: python -c 'import {row['module']}'"
    judged.got.find("system-library", r.file, text, r.line, remedy=remedy)
    return r


def _removed(judged: Judged, r: Requirement) -> Requirement | None:
    for row in table("removed_releases")["release"]:
        if r.name == row["name"] and r.pinned in row["versions"]:
            text = f"{r.name} {r.pinned} is not offered ({row['why']}); it must not be fetched elsewhere"
            remedy = f"{r.name}=={row['instead']} is {row['instead_is']}"
            judged.got.find("removed-release", r.file, text, r.line, severity=ERROR, remedy=remedy)
    return r


def _old_metadata(judged: Judged, r: Requirement) -> Requirement | None:
    for row in table("old_metadata")["release"]:
        if r.name == row["name"] and r.spec and newest_within(r.spec, row["versions"]):
            chain = " -> ".join([f"{r.name} {r.pinned or r.spec}", *row["below"]])
            text = f"{chain}: `{row['culprit']}` says `{row['says']}`, which pip 24.1 and newer refuse"
            remedy = "the lock and the image use pip 24.0 for it; nothing else is changed"
            judged.got.find("invalid-metadata", r.file, text, r.line, remedy=remedy)
            judged.old_metadata = True
    return r


_RULES: list[Callable[[Judged, Requirement], Requirement | None]] = [
    _os_only, _conda_path, _left_over, traps.stdlib, traps.conda_name, _deprecated, _four_parts,
    traps.not_on_index, traps.needs_torch, _needs_system, _removed, _old_metadata,
]  # fmt: skip
