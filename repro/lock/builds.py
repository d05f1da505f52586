"""Builds of torch and of what is built against it: local tags, pages of wheels, NVIDIA's libraries."""

import re
from datetime import date
from typing import Any

from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Requirement, Source
from repro.lock.table import table
from repro.lock.text import line_of, read_text
from repro.tables.torchbuilds import releases

_PAGE_TORCH = re.compile(r"torch-?(\d+)\.(\d+)|_pyt(\d)(\d+)\d(?!\d)")
_PAGE_CUDA = re.compile(r"(?<![A-Za-z0-9])(cu\d{2,3}|cpu)(?![A-Za-z0-9])")
_AGAINST = re.compile(r"^pt(\d)(\d+)(cu\d+|cpu)$")


def judge_builds(got: Gathered, requirements: list[Requirement], torch: str) -> None:
    """Note findings about the builds that are asked for; `torch` is its pinned version, or empty."""
    _local_tags(got, requirements)
    for r in (*requirements, *got.constraints):
        if r.name == "torch" and r.pinned:
            _exists(got, r)
        elif torch and r.pinned:
            _against(got, r, torch)
        if torch and (found := re.match(r"nvidia-.*-cu(\d\d)$", r.name)):
            _libraries(got, r, found[1], torch)
    if torch:
        for source in got.sources:
            _page(got, source, torch)


def _local_tags(got: Gathered, requirements: list[Requirement]) -> None:
    offered = any(s.kind in ("find-links", "extra-index", "index") for s in got.sources)
    for r in (*requirements, *got.constraints):
        tag = r.pinned.partition("+")[2]
        family = family_of(tag) if tag else None
        if family is None or r.url:
            continue
        what = f"the {tag} index only" if re.match(r"cu\d", tag) else f"the `{tag}` builds only"
        alias = family["alias"].replace("{tag}", tag)
        asked = "" if offered else ", which the file does not name"
        use = (
            f"; index {alias} is used for it" if alias else "; name the page that offers it with --find-links"
        )
        got.find("local-version-tag", r.file, f"+{tag} exists on {what}{asked}{use}", r.line)


def _exists(got: Gathered, r: Requirement) -> None:
    """Stop at a release or a build of torch that there never was, and at a nightly build that is gone."""
    from packaging.version import InvalidVersion, Version

    bare, _, tag = r.pinned.partition("+")
    try:
        version = Version(bare)
    except InvalidVersion:
        return
    if version.is_devrelease:
        _nightly(got, r)
        return
    offered = {Version(v): row for v, row in releases().items()}
    row = offered.get(version)
    if row is None:
        below = [v for v in offered if v < version]
        above = [v for v in offered if v > version]
        if below and above and not version.is_prerelease and not version.is_postrelease:
            text = f"there is no release {bare} of torch"
            remedy = f"torch=={below[-1]} and torch=={above[0]} are the nearest"
            got.find("no-such-release", r.file, text, r.line, severity=ERROR, remedy=remedy)
        elif not below:
            text = f"torch {bare} is older than the table; no build has code for Ampere or newer cards"
            got.find("arch", r.file, text, r.line, remedy="a newer torch, or an older card")
        return
    tags = [build.tag for build in row.builds]
    if re.match(r"cu\d", tag) and tags and tag not in tags:
        text = f"torch {bare} has no {tag} build; there are {', '.join(tags)}, and cpu"
        remedy = f"torch=={bare}+{tags[-1]}"
        got.find("no-such-build", r.file, text, r.line, severity=ERROR, remedy=remedy)


def _nightly(got: Gathered, r: Requirement) -> None:
    days = table("requirement_traps")["nightly"]["days"]
    made = re.search(r"\.dev(\d{4})(\d\d)(\d\d)", r.pinned)
    known = date.fromisoformat(table("torch_releases")["collected"])
    try:
        gone = made is not None and (known - date(*map(int, made.groups()))).days > 2 * days
    except ValueError:
        gone = False
    local = any(s.kind == "find-links" and "://" not in s.url for s in got.sources) or r.url
    text = f"torch {r.pinned} is a nightly build; such builds are deleted after about {days} days"
    if gone and not local:
        remedy = f"torch=={_release_after(r.pinned)} is the release that it became, as far as the table knows"
        got.find("nightly", r.file, f"{text}, so it is gone", r.line, severity=ERROR, remedy=remedy)
    else:
        got.find("nightly", r.file, f"{text}; the bundle carries it", r.line)


def _release_after(pin: str) -> str:
    from packaging.version import Version

    base = Version(pin.split("+")[0]).base_version
    return next((v for v in releases() if Version(v) >= Version(base)), list(releases())[-1])


def _against(got: Gathered, r: Requirement, torch: str) -> None:
    """`+pt112cu116` was built against torch 1.12 with CUDA 11.6, and loads with no other."""
    found = _AGAINST.match(r.pinned.partition("+")[2])
    if not found:
        return
    minor, cuda = f"{found[1]}.{found[2]}", found[3]
    if not _is_same(torch, minor, cuda):
        text = f"{r.name} {r.pinned} was built against torch {minor} and {cuda}; torch {torch} is asked for"
        remedy = f"take the {r.name} that was built against torch {torch}, or torch {minor} with {cuda}"
        got.find("conflict", r.file, text, r.line, severity=ERROR, remedy=remedy)


def _is_same(torch: str, minor: str, cuda: str) -> bool:
    bare, _, tag = torch.partition("+")
    mine = tag or _usual(bare)
    return ".".join(bare.split(".")[:2]) == minor and (not cuda or not mine or mine == cuda)


def _usual(version: str) -> str:
    """Tag of the build behind a plain requirement; empty when the table does not have the release."""
    row = releases().get(version)
    return row.pypi_tag if row else ""


def _page(got: Gathered, source: Source, torch: str) -> None:
    """A page of wheels for another torch: what lies there loads with that torch alone."""
    found, cuda = _PAGE_TORCH.search(source.url), _PAGE_CUDA.search(source.url)
    if not found:
        return
    minor = ".".join(part for part in found.groups() if part)
    if not _is_same(torch, minor, cuda[1] if cuda else ""):
        file, line = _place(got, source.url)
        what = f"torch {minor}{' and ' + cuda[1] if cuda else ''}"
        text = f"the page `{source.url}` holds wheels for {what}; torch {torch} is asked for"
        remedy = f"name the page for torch {torch}"
        got.find("page-mismatch", file, text, line, severity=ERROR, remedy=remedy)


def _place(got: Gathered, url: str) -> tuple[str, int]:
    for file in got.inputs:
        if number := line_of(read_text(got.root / file), re.escape(url)):
            return file, number
    return "repro.toml", 1


def _libraries(got: Gathered, r: Requirement, major: str, torch: str) -> None:
    bare, _, tag = torch.partition("+")
    mine = tag or _usual(bare)
    cuda = re.match(r"cu(\d\d)\d?$", mine)
    if (cuda and cuda[1] != major) or mine == "cpu":
        what = f"CUDA {int(cuda[1])}" if cuda else "the CPU"
        text = f"{r.name} is for CUDA {int(major)}; torch {torch} is built for {what} and brings its own"
        got.find("nvidia-mismatch", r.file, text, r.line, remedy="take the line out")


def family_of(tag: str) -> dict[str, Any] | None:
    """Row of `index_aliases.toml` whose tag pattern fits a local version tag."""
    rows: list[dict[str, Any]] = table("index_aliases")["family"]
    return next((row for row in rows if re.match(row["tags"], tag)), None)


def alias_sources(requirements: list[Requirement]) -> list[Source]:
    """Indexes that serve the local version tags in use, by table."""
    found = {}
    for r in requirements:
        tag = r.pinned.partition("+")[2]
        family = family_of(tag) if tag else None
        if family and family["url"]:
            url = family["url"].replace("{tag}", tag)
            found[url] = Source(kind="alias", url=url, name=family["alias"].replace("{tag}", tag))
    return list(found.values())
