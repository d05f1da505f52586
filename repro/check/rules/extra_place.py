"""Packages without a file at hand: what they need of the C library and of NumPy."""

import re
from collections.abc import Iterator

from packaging.version import Version

from repro.check.finding import finding
from repro.check.known.policy import (
    Known,
    exact,
    known,
    prebuilt,
    prebuilt_of,
    surely_from,
    third_party_glibc,
)
from repro.check.rules.extras import by_others, is_prebuilt, mentioned, name_of, place_of
from repro.model.check import Extra, Finding, Stack, Target
from repro.tables.read import table

_MANYLINUX = re.compile(r"manylinux(?:_(\d+)_(\d+)|(1|2010|2014))(?!\d)")
# `needs GLIBC_2.32`, `requires glibc >= 2.29`, `version `GLIBC_2.33' not found`: what a file asks for.
_ASKS = re.compile(
    r"(?:GLIBC_|(?:need|requir|want|ask)\w*(?: for)? g?libc\s*(?:>=\s*)?)(2\.\d{1,2})", re.IGNORECASE
)
_PYTHON = re.compile(r"\bcp3\d{1,2}\b")
_MACHINE = re.compile(r"(?:x86_64|aarch64|win_amd64|ppc64le)")
_LEGACY = {"1": "2.5", "2010": "2.12", "2014": "2.17"}
# From 2.34 on the thread functions carry that version: code made there hardly ever runs on an older one.
_THREADS_MOVED = [2, 34]
_OLDEST_BUILDER = [2, 31]


def c_library(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on packages built on a newer system than the one they are to run on."""
    have = _numbers(stack.glibc)
    for extra, row in mentioned(stack) if have else ():
        needs, source = _glibc(extra, row)
        if needs and _numbers(needs) > have:
            found = f"{name_of(extra)} needs glibc {needs}"
            yield _tell("extra-glibc", extra, stack, found, f"glibc >= {needs}", source)
        elif not needs and by_others(extra) and have < _OLDEST_BUILDER:
            found = f"{name_of(extra)}: {extra.how}"
            yield _tell("extra-glibc-unknown", extra, stack, found, "the glibc it was built on")


def file_name(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on described wheels for another Python or another machine, by the tags that are said."""
    python = f"cp{stack.python.replace('.', '')}"
    for extra, _row in mentioned(stack):
        pythons = set(_PYTHON.findall(extra.how)) if stack.python and "abi3" not in extra.how else set()
        machines = set(_MACHINE.findall(extra.how))
        if (pythons and python not in pythons) or (machines and stack.machine not in machines):
            yield finding(
                "extra-other-platform",
                f"{name_of(extra)} is for {', '.join(sorted(pythons | machines))}",
                needed=f"a file for {python if stack.python else 'this Python'} on {stack.machine}",
                fix=f"take the file of {extra.name} for this Python and machine",
                where=place_of(extra),
            )


def numpy_of_extras(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on compiled packages made for NumPy 1 beside a NumPy 2."""
    numpy = _numpy(stack)
    if not surely_from(numpy, "2.0.0"):
        return
    versions = stack.packages | {extra.name: extra.version for extra in stack.extras}
    for name, version in sorted(versions.items()):
        row = known(name)
        if row and row.numpy2 and not surely_from(version, row.numpy2):
            yield finding(
                "numpy2-extension",
                f"{f'{name} {version}' if version else f'{name} (no version said)'} beside numpy {numpy}",
                needed=f"{name} >= {row.numpy2}, the first built for NumPy 2",
                fix=["numpy<2", f"{name}>={row.numpy2}"],
                source=row.source,
                where=name,
            )


def _glibc(extra: Extra, row: Known | None) -> tuple[str, str]:
    """(glibc that the file needs, source); empty when it cannot be told."""
    tag = _MANYLINUX.search(extra.how)
    if tag:
        return (f"{tag[1]}.{tag[2]}" if tag[1] else _LEGACY[tag[3]]), "the platform tag of the wheel"
    asked = _ASKS.findall(extra.how)
    if asked:
        return max(asked, key=_numbers), "the version of its symbols, as said"
    for system in table("systems")["system"]:
        said = re.search(rf"\b{re.escape(system['name'])}\b", extra.how, re.IGNORECASE)
        if said and _numbers(system["glibc"]) >= _THREADS_MOVED:
            return "2.34", f"built on {system['name']}, {system['source']}"
    if by_others(extra):
        return third_party_glibc(extra.name)
    files = prebuilt_of(extra.name, extra.version) if is_prebuilt(extra, row) else None
    return (files.glibc, files.source) if files else ("", "")


def _tell(code: str, extra: Extra, stack: Stack, found: str, needed: str, source: str = "") -> Finding:
    return finding(
        code,
        f"{found}; it runs on glibc {stack.glibc}",
        needed=needed,
        fix=[f"compile {extra.name} in the image", *_bases(needed), *_older(extra)],
        source=source,
        where=place_of(extra),
    )


def _bases(needed: str) -> list[str]:
    """A base image that has the C library."""
    wanted = _numbers(needed)
    rows = [row["name"] for row in table("systems")["system"] if wanted and _numbers(row["glibc"]) >= wanted]
    return [f"a base image such as {rows[0]}"] if rows else []


def _older(extra: Extra) -> list[str]:
    """The last release whose files need no more than what is there."""
    asked = exact(extra.version)
    rows = [r for r in prebuilt(extra.name) if not r.glibc and asked and Version(r.until) < asked]
    return [f"{extra.name}=={rows[-1].until}"] if rows and not by_others(extra) else []


def _numpy(stack: Stack) -> str:
    said = next((extra.version for extra in stack.extras if extra.name.lower() == "numpy"), "")
    return said or stack.packages.get("numpy", "")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)][:2]
