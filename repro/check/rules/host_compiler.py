"""The compiler behind nvcc: whether nvcc takes the gcc that a package is compiled with."""

import re
from collections.abc import Iterator
from typing import Any

from repro.check.finding import finding
from repro.check.rules.extras import name_of, place_of
from repro.check.words.compiler import host_compiler_in
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table

_FORCED = re.compile(r"allow-unsupported-compiler", re.IGNORECASE)


def host_compiler(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on described packages that are compiled with a gcc newer than their nvcc takes."""
    around = host_compiler_in(stack.detail)
    for extra in stack.extras:
        gcc, nvcc = extra.gcc or around, extra.nvcc
        row = (
            _row(nvcc) if gcc and nvcc and extra.built != "wheel" and not _FORCED.search(extra.how) else None
        )
        if row is None or int(gcc.partition(".")[0]) <= row["gcc"]:
            continue
        yield finding(
            "nvcc-host-compiler",
            f"{name_of(extra)}: nvcc {nvcc} with gcc {gcc}",
            needed=f"gcc {row['gcc']} or older, the newest that nvcc {nvcc} takes",
            fix=[
                "apt-get install g++-{0}, then CC=gcc-{0} CXX=g++-{0} for the build".format(row["gcc"]),
                *(f"or a CUDA toolkit >= {later}" for later in _takes(gcc)),
            ],
            source=row["source"],
            where=place_of(extra),
        )


def _row(nvcc: str) -> dict[str, Any] | None:
    """The row of a toolkit; None for one from before the table."""
    rows = [row for row in table("host_compilers")["nvcc"] if _numbers(row["since"]) <= _numbers(nvcc)]
    return rows[-1] if rows else None


def _takes(gcc: str) -> list[str]:
    """The first toolkit that takes a gcc; none where no known one does."""
    major = int(gcc.partition(".")[0])
    return [row["since"] for row in table("host_compilers")["nvcc"] if row["gcc"] >= major][:1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
