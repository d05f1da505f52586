"""Rules about what can be installed: a wheel for the Python, a build for the CUDA, a place that has it."""

import re
from collections.abc import Iterator

from packaging.version import Version

from repro.check.finding import finding
from repro.check.known.builds import (
    build_with,
    conda_package_is_missing,
    known_release,
    known_releases,
    parsed,
)
from repro.check.known.called import torch_name
from repro.check.known.official import is_cpu_only, is_default_aarch64_cpu, is_tegra, is_wheel
from repro.check.known.remedy import lock_line, python_remedies, remedies
from repro.check.words.torch import read_index
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table
from repro.tables.toolkits import tag_cuda
from repro.tables.torchbuilds import Release

_MUSL = re.compile(r"\balpine\b|\bmusl\b", re.IGNORECASE)
_LEGACY = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


def python_wheel(stack: Stack, _target: Target) -> Iterator[Finding]:
    """Each release has wheels for some Pythons only."""
    torch, release = stack.torch, _release(stack)
    if release is None or not stack.python or stack.python in release.pythons:
        return
    yield finding(
        "python-no-wheel",
        f"Python {stack.python}; {torch_name(torch)} has no wheel for it",
        needed=f"Python {', '.join(release.plain_pythons)}",
        fix=python_remedies(torch.version, stack.python),
        source=f"table of torch releases: {release.source}",
        where=torch.where,
    )


def c_library(stack: Stack, _target: Target) -> Iterator[Finding]:
    """The platform tags of the wheels say which C library they need; none is for musl."""
    torch, release = stack.torch, _release(stack)
    if release is None:
        return
    if _MUSL.search(stack.detail):
        yield finding(
            "wheel-needs-glibc",
            f"{stack.detail}; {torch_name(torch)} has wheels for {', '.join(release.manylinux)}",
            needed="a system with glibc",
            fix="a base image such as debian:bookworm-slim",
            where=torch.where,
        )
        return
    floor, have = _glibc_floor(release), parsed(stack.glibc)
    if have and floor and have < floor:
        yield finding(
            "wheel-glibc",
            f"glibc {stack.glibc}; {torch_name(torch)} has wheels for {', '.join(release.manylinux)}",
            needed=f"glibc >= {floor}",
            fix=["a base image such as debian:bookworm-slim", *_older_wheel(release, stack)],
            where=torch.where,
        )


def _glibc_floor(release: Release) -> Version | None:
    """The lowest glibc that one of the platform tags accepts. Source: PEP 600 and its legacy names."""
    found = [_LEGACY.get(tag.split("_")[0], "") or ".".join(tag.split("_")[1:3]) for tag in release.manylinux]
    return min((version for text in found if (version := parsed(text))), default=None)


def _older_wheel(release: Release, stack: Stack) -> list[str]:
    rows = list(known_releases().values())
    have = parsed(stack.glibc)
    fitting = [
        r for r in rows[: rows.index(release)] if have and (floor := _glibc_floor(r)) and floor <= have
    ]
    return [f"lock torch=={fitting[-1].version}"] if fitting else []


def build_exists(stack: Stack, _target: Target) -> Iterator[Finding]:
    """Each release was built for some CUDA versions only."""
    torch, release = stack.torch, _release(stack)
    if release is None or not tag_cuda(torch.tag) or build_with(release, torch.tag):
        return
    tags = [build.tag for build in release.builds]
    near = next((row for row in _after(release) if build_with(row, torch.tag)), None)
    build = build_with(near, torch.tag) if near else None
    moved = [f"{lock_line(near, build)}: the next release with that build"] if near and build else []
    yield finding(
        "build-not-made",
        f"{torch_name(torch)}: {release.version} was not built for CUDA {tag_cuda(torch.tag)}",
        needed=f"one of the builds {', '.join(tags)}",
        fix=[lock_line(release, release.builds[-1]), *moved],
        source=f"table of torch releases: {release.source}",
        where=torch.where,
    )


def conda_build_exists(stack: Stack, target: Target) -> Iterator[Finding]:
    """The channel `pytorch` had packages for some CUDA only; else the solver takes the CPU package."""
    torch, release = stack.torch, known_release(stack.torch.version) if stack.torch.version else None
    if release is None or not conda_package_is_missing(torch):
        return
    made = list(dict.fromkeys(build.cuda for build in release.builds))
    yield finding(
        "conda-build-not-made",
        f"{torch_name(torch)}: the channel pytorch has no such package",
        needed=f"CUDA {' or '.join(made)}",
        fix=remedies(stack, target)[:1]
        if target.capability
        else f"pytorch=={release.version} for CUDA {made[-1]}",
        source=table("conda_builds")["as_wheels_source"],
        where=torch.where,
    )


def release_exists(stack: Stack, _target: Target) -> Iterator[Finding]:
    """A version between the releases of the table that is none of them."""
    torch, version = stack.torch, parsed(stack.torch.version)
    if not is_wheel(torch) or version is None or known_release(torch.version) or stack.system != "linux":
        return
    newer = [
        row.version for row in known_releases().values() if (known := parsed(row.version)) and known > version
    ]
    inside = newer and len(newer) < len(known_releases())
    if (
        inside
        and read_index(torch.index).kind in ("default", "pytorch")
        and not (version.is_prerelease or version.is_postrelease)
    ):
        yield finding(
            "release-not-made",
            f"{torch_name(torch)} is none of the {len(known_releases())} releases in the table",
            needed=f"a release, such as {newer[0]}",
            fix=f"lock torch=={newer[0]}",
            where=torch.where,
        )


def index_has_build(stack: Stack, _target: Target) -> Iterator[Finding]:
    """A build with a tag is only on the project's own index for that tag."""
    torch, place = stack.torch, read_index(stack.torch.index)
    if not is_wheel(torch) or "+" not in torch.asked or not torch.tag:
        return
    if place.kind == "default" or (place.kind == "pytorch" and place.tag != torch.tag):
        yield finding(
            "index-without-build",
            f"`{torch.asked}` from the index {torch.index}",
            needed=f"the index pytorch-{torch.tag}",
            fix=f"repro check --torch {torch.version}+{torch.tag} --index pytorch-{torch.tag}",
            where=torch.where,
        )


def cpu_build(stack: Stack, target: Target) -> Iterator[Finding]:
    """A build without CUDA cannot use the card that is asked for."""
    torch = stack.torch
    if not target.asked or not is_cpu_only(stack) or torch.basis == "arch-list":
        return
    if not target.capability and torch.tag.startswith(("rocm", "xpu")):  # the card may be of that maker
        return
    if is_default_aarch64_cpu(stack):
        yield finding(
            "cpu-build-on-aarch64",
            f"torch {torch.version} from the default index on {stack.machine} is a CPU-only wheel",
            needed="a wheel from one of the project's CUDA indexes",
            fix=_aarch64_fix(stack, target),
            source=table("aarch64_builds")["source"],
            where=torch.where,
        )
        return
    yield finding(
        "cpu-build",
        f"{torch_name(torch)} has no CUDA in it",
        needed=f"a CUDA build with code for capability {target.capability or 'of the card'}",
        fix=remedies(stack, target) if target.capability else (),
        where=torch.where,
    )


def _aarch64_fix(stack: Stack, target: Target) -> list[str]:
    release, facts = known_release(stack.torch.version), table("aarch64_builds")
    if is_tegra(target.capability):
        return [facts["boards"]["fix"]]
    first, version = parsed(facts["first_cuda_index"]), parsed(stack.torch.version)
    tag = release.pypi_tag if release and first and version and version >= first else ""
    same = [f"lock torch=={version}+{tag} (index pytorch-{tag})"] if tag else []
    return [*same, f"lock torch=={facts['first_cuda_default']} or newer"]


def _release(stack: Stack) -> Release | None:
    """The release whose Linux wheels the words mean."""
    torch = stack.torch
    return (
        known_release(torch.version)
        if torch.version and is_wheel(torch) and stack.system == "linux"
        else None
    )


def _after(release: Release) -> list[Release]:
    rows = list(known_releases().values())
    return rows[rows.index(release) + 1 :]
