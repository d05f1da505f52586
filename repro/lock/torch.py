"""What the table of torch releases says about the pins: partners, Pythons, NumPy, cards."""

from repro.lock.builds import judge_builds
from repro.lock.clashes import applies
from repro.lock.pipfile import Gathered
from repro.lock.pythons import admits, minor_of
from repro.lock.ranges import allowed
from repro.lock.requests import ERROR, Hint, Requirement
from repro.tables.torchbuilds import Release, release, releases

_NUMPY_2_SINCE = "2.3"


def judge_torch(
    got: Gathered, requirements: list[Requirement], hints: list[Hint], python: str
) -> list[Requirement]:
    """Findings about torch and its family for a Python minor; returns constraints to add."""
    applying = [r for r in requirements if applies(r, python)]
    torch = next((r for r in applying if r.name == "torch"), None) or _brought(got, applying)
    judge_builds(got, requirements, torch.pinned if torch else "")
    if torch is None:
        return []
    pin, where = _pin(got, torch)
    row = release(pin)
    specs = [r.spec for r in (*applying, *got.constraints) if r.name == "torch"] or [torch.spec]
    _partners(got, applying, specs, where)
    if row:
        _pythons(got, row, where, hints)
        _cards(got, row, where, pin.partition("+")[2])
    return _numpy(got, applying, torch, pin or _newest_admitted(specs))


def _brought(got: Gathered, requirements: list[Requirement]) -> Requirement | None:
    """The torch that a pinned torchvision or torchaudio brings along, when no line names one."""
    for partner in ("torchvision", "torchaudio"):
        other = next((r for r in requirements if r.name == partner and r.pinned), None)
        version = other.pinned.split("+")[0] if other else ""
        owners = [r for r in releases().values() if getattr(r, partner) == version]
        if other and len(owners) == 1 and getattr(owners[0], f"{partner}_source") == "wheel":
            torch = owners[0].version
            text = f"{partner} {version} brings torch {torch}, which no line names"
            got.find("torch-unnamed", other.file, text, other.line, remedy=f"write `torch=={torch}` as well")
            return Requirement(name="torch", spec=f"=={torch}", file=other.file, line=other.line)
    return None


def _pin(got: Gathered, torch: Requirement) -> tuple[str, Requirement]:
    """The pinned version and the requirement or constraint that pins it."""
    if torch.pinned:
        return torch.pinned, torch
    fixed = next((c for c in got.constraints if c.name == "torch" and c.pinned), torch)
    return fixed.pinned, fixed


def _partners(got: Gathered, requirements: list[Requirement], specs: list[str], torch: Requirement) -> None:
    admitted = _admitted(specs)
    for partner in ("torchvision", "torchaudio"):
        other = next((r for r in requirements if r.name == partner and r.pinned), None)
        if other is None or not admitted:
            continue
        version = other.pinned.split("+")[0]
        strict = [
            r
            for r in releases().values()
            if getattr(r, partner) == version and getattr(r, f"{partner}_source") == "wheel"
        ]
        if strict and not {r.version for r in strict} & set(admitted):
            wants = " or ".join(r.version for r in strict)
            row = releases()[admitted[-1]]
            one = f"torch=={wants} with {partner}=={version}"
            remedy = f"{one}, or {partner}=={getattr(row, partner)} with torch=={row.version}"
            lines = [torch.line] if torch.file == other.file else []
            asks = torch.pinned.split("+")[0] or torch.spec
            text = f"{partner} {version} wants torch {wants}; {torch.place} asks for {asks}"
            got.find("conflict", other.file, text, *lines, other.line, severity=ERROR, remedy=remedy)
        _same_build(got, torch, other, partner)


def _admitted(specs: list[str]) -> list[str]:
    """Releases in the table that all specifiers allow, oldest first."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        sets = [SpecifierSet(s.split("+")[0] if s.startswith("==") else s) for s in specs]
    except InvalidSpecifier:
        return []
    return [v for v in releases() if all(s.contains(v) for s in sets)]


def _same_build(got: Gathered, torch: Requirement, other: Requirement, partner: str) -> None:
    mine, its = torch.pinned.partition("+")[2], other.pinned.partition("+")[2]
    if mine and its and mine != its:
        text = f"torch is the {mine} build and {partner} the {its} build"
        remedy = f"{partner}=={other.pinned.split('+')[0]}+{mine}"
        got.find("conflict", other.file, text, torch.line, other.line, severity=ERROR, remedy=remedy)


def _pythons(got: Gathered, row: Release, torch: Requirement, hints: list[Hint]) -> None:
    offered = row.plain_pythons
    span = f"torch {row.version} has wheels for Python {offered[0]} to {offered[-1]}"
    got.find("python-range", torch.file, span, torch.line, severity="note")
    for hint in hints:
        if not any(admits(hint.python, minor) for minor in offered):
            minor = minor_of(hint.python) or hint.python
            file, _, line = hint.where.partition(":")
            numbers = [int(line)] if line.isdigit() else []
            got.find("python-range", file, f"the project asks for Python {minor}", *numbers)
            works = ", ".join(reversed(offered))
            text = f"{span}; the project asks for {minor}"
            remedy = f'use one of these interpreters: {works} (`python = "{offered[-1]}"`), or another torch'
            got.find("no-wheel-for-python", torch.file, text, torch.line, severity=ERROR, remedy=remedy)
            return


def _cards(got: Gathered, row: Release, torch: Requirement, tag: str) -> None:
    tag = tag or row.pypi_tag
    build = next((b for b in row.builds if b.tag == tag), None)
    if build is None or not build.sass:
        return
    newest = max(int(s.removeprefix("sm_")) for s in build.sass)
    if newest >= 80:
        return
    others = [b.tag for b in row.builds if any(int(s[3:]) >= 80 for s in b.sass)]
    has = f"has no machine code for Ampere or newer cards (up to sm_{newest}; A100 needs sm_80)"
    ptx = f", only PTX ({', '.join(build.ptx)})" if build.ptx else ""
    text = f"torch {row.version} ({tag}) {has}{ptx}"
    if not others:
        text += f"; no {row.version} build has"
    remedy = f"torch=={row.version}+{others[-1]} has it" if others else "a newer torch, or an older card"
    got.find("arch", torch.file, text, torch.line, remedy=remedy)


def _numpy(got: Gathered, requirements: list[Requirement], torch: Requirement, pin: str) -> list[Requirement]:
    from packaging.specifiers import SpecifierSet

    newest = pin
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


def _newest_admitted(specs: list[str]) -> str:
    """The newest release in the table that the ranges admit; empty when they are open to newer ones."""
    admitted = _admitted(specs) if any(specs) else []
    return admitted[-1] if admitted and allowed(specs, ["9999"])[:1] != ["9999"] else ""
