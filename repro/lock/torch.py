"""What the table of torch releases says about the pins: partners, Pythons, builds, NumPy, cards."""

import re
from typing import Any

from repro.lock.pipfile import Gathered
from repro.lock.requests import ERROR, Hint, Requirement, Source
from repro.lock.table import table, torch_releases

_NUMPY_2_SINCE = "2.3"


def judge_torch(got: Gathered, requirements: list[Requirement], hints: list[Hint]) -> list[Requirement]:
    """Findings about torch and its family; returns constraints to add."""
    torch = next((r for r in requirements if r.name == "torch"), None)
    _local_tags(got, requirements)
    if torch is None:
        return []
    pin, where = _pin(got, torch)
    row = torch_releases().get(pin.split("+")[0])
    if row:
        _partners(got, requirements, row, where)
        _pythons(got, row, where, hints)
        _cards(got, row, where, pin.partition("+")[2])
    return _numpy(got, requirements, torch, pin)


def _pin(got: Gathered, torch: Requirement) -> tuple[str, Requirement]:
    """The pinned version and the requirement or constraint that pins it."""
    if torch.pinned:
        return torch.pinned, torch
    fixed = next((c for c in got.constraints if c.name == "torch" and c.pinned), torch)
    return fixed.pinned, fixed


def _partners(
    got: Gathered, requirements: list[Requirement], row: dict[str, Any], torch: Requirement
) -> None:
    for partner in ("torchvision", "torchaudio"):
        other = next((r for r in requirements if r.name == partner and r.pinned), None)
        if other is None:
            continue
        version = other.pinned.split("+")[0]
        owners = [r for r in torch_releases().values() if r.get(partner) == version]
        strict = [r for r in owners if r.get(f"{partner}_source") == "wheel"]
        if strict and row not in owners:
            wants = " or ".join(r["version"] for r in strict)
            one = f"torch=={wants} with {partner}=={version}"
            remedy = f"{one}, or {partner}=={row[partner]} with torch=={row['version']}"
            lines = [torch.line] if torch.file == other.file else []
            text = f"{partner} {version} wants torch {wants}; {torch.place} asks for {row['version']}"
            got.find("conflict", other.file, text, *lines, other.line, severity=ERROR, remedy=remedy)
        _same_build(got, torch, other, partner)


def _same_build(got: Gathered, torch: Requirement, other: Requirement, partner: str) -> None:
    mine, its = torch.pinned.partition("+")[2], other.pinned.partition("+")[2]
    if mine and its and mine != its:
        text = f"torch is the {mine} build and {partner} the {its} build"
        remedy = f"{partner}=={other.pinned.split('+')[0]}+{mine}"
        got.find("conflict", other.file, text, torch.line, other.line, severity=ERROR, remedy=remedy)


def plain_pythons(row: dict[str, Any]) -> list[str]:
    """Python minors with an ordinary (not free-threaded) wheel, oldest first."""
    return [p for p in row["python"] if not p.endswith("t")]


def _pythons(got: Gathered, row: dict[str, Any], torch: Requirement, hints: list[Hint]) -> None:
    offered = plain_pythons(row)
    span = f"torch {row['version']} has wheels for Python {offered[0]} to {offered[-1]}"
    got.find("python-range", torch.file, span, torch.line, severity="note")
    for hint in hints:
        minor = minor_of(hint.python)
        if minor and minor not in offered:
            file, _, line = hint.where.partition(":")
            numbers = [int(line)] if line.isdigit() else []
            got.find("python-range", file, f"the project asks for Python {minor}", *numbers)
            works = ", ".join(reversed(offered))
            text = f"{span}; the project asks for {minor}"
            remedy = f'use one of these interpreters: {works} (`python = "{offered[-1]}"`), or another torch'
            got.find("no-wheel-for-python", torch.file, text, torch.line, severity=ERROR, remedy=remedy)
            return


def minor_of(python: str) -> str:
    """`3.11` of `3.11.7` or `3.11`; empty for a range."""
    found = re.fullmatch(r"={0,2}\s*(\d\.\d+)(\.[\d*]+)?", python.strip())
    return found.group(1) if found else ""


def _cards(got: Gathered, row: dict[str, Any], torch: Requirement, tag: str) -> None:
    tag = tag or row.get("pypi_tag", "")
    build = next((v for v in row.get("variant", []) if v["tag"] == tag), None)
    if build is None or not build.get("sass"):
        return
    newest = max(int(s.removeprefix("sm_")) for s in build["sass"])
    if newest >= 80:
        return
    others = [v["tag"] for v in row["variant"] if any(int(s[3:]) >= 80 for s in v.get("sass", []))]
    has = f"has no machine code for Ampere or newer cards (up to sm_{newest}; A100 needs sm_80)"
    ptx = f", only PTX ({', '.join(build['ptx'])})" if build.get("ptx") else ""
    text = f"torch {row['version']} ({tag}) {has}{ptx}"
    if not others:
        text += f"; no {row['version']} build has"
    remedy = f"torch=={row['version']}+{others[-1]} has it" if others else "a newer torch, or an older card"
    got.find("arch", torch.file, text, torch.line, remedy=remedy)


def _numpy(got: Gathered, requirements: list[Requirement], torch: Requirement, pin: str) -> list[Requirement]:
    from packaging.specifiers import SpecifierSet

    newest = pin or _newest_admitted(torch)
    if not newest or not _before(newest, _NUMPY_2_SINCE):
        return []
    numpy = next((r for r in requirements if r.name == "numpy"), None)
    specs = [r.spec for r in (*requirements, *got.constraints) if r.name == "numpy"]
    if (
        specs
        and not all(SpecifierSet(s).contains(v) for s in specs for v in ("2.0.0",))
        and not _admits_2(specs)
    ):
        return []
    place = numpy or torch
    same = numpy is not None and numpy.file == torch.file and not (numpy.spec or pin == "")
    lines = {place.line, torch.line} if same and _lost(got, place) else {place.line}
    built = f"torch {newest} was built against NumPy 1.x (before torch {_NUMPY_2_SINCE})"
    text = f"{built}; NumPy 2.x would be taken"
    if numpy is not None and numpy.pinned:
        remedy = "write `numpy<2`, or a newer torch"
        got.find(
            "numpy2-risk", place.file, f"{text}, as it is pinned to {numpy.pinned}", *lines, remedy=remedy
        )
        return []
    got.find("numpy2-risk", place.file, f"{text}; `numpy<2` is added", *lines)
    return [Requirement(name="numpy", spec="<2", file=place.file, line=place.line)]


def _lost(got: Gathered, numpy: Requirement) -> bool:
    return any(f.code == "version-lost" and numpy.line in f.lines for f in got.findings)


def _admits_2(specs: list[str]) -> bool:
    from packaging.specifiers import SpecifierSet

    return any(
        all(SpecifierSet(s).contains(f"2.{n}.{p}") for s in specs) for n in range(12) for p in range(5)
    )


def _before(version: str, limit: str) -> bool:
    from packaging.version import Version

    return Version(version) < Version(limit)


def _newest_admitted(torch: Requirement) -> str:
    """The newest release in the table that the range admits; empty when the range is open to newer ones."""
    from packaging.specifiers import SpecifierSet

    if not torch.spec:
        return ""
    admitted = [v for v in torch_releases() if SpecifierSet(torch.spec).contains(v)]
    return admitted[-1] if admitted else ""


def _local_tags(got: Gathered, requirements: list[Requirement]) -> None:
    offered = any(s.kind in ("find-links", "extra-index", "index") for s in got.sources)
    for r in (*requirements, *got.constraints):
        tag = r.pinned.partition("+")[2]
        family = family_of(tag) if tag else None
        if family is None:
            continue
        what = f"the {tag} index only" if re.match(r"cu\d", tag) else f"the `{tag}` builds only"
        alias = family["alias"].replace("{tag}", tag)
        asked = "" if offered else ", which the file does not name"
        use = (
            f"; index {alias} is used for it" if alias else "; name the page that offers it with --find-links"
        )
        got.find("local-version-tag", r.file, f"+{tag} exists on {what}{asked}{use}", r.line)


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
