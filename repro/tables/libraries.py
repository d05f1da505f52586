"""Machine code in NVIDIA's library wheels, as it was read in them."""

from functools import cache

import msgspec

from repro.model.record import Record
from repro.tables.read import table


class Library(Record, kw_only=True):
    """One shared object of a wheel.

    Attributes:
        distribution: `nvidia-cublas-cu12`; `file`: `libcublas.so.12`.
        sass, ptx: targets of its code; `containers`: fat-binary containers that hold each of them.
    """

    distribution: str
    version: str
    file: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    containers: dict[str, int]
    source: str


@cache
def all_libraries() -> tuple[Library, ...]:
    """All rows, in the order of the table."""
    return tuple(msgspec.convert(table("cuda_libraries")["library"], list[Library]))


def libraries(distribution: str, version: str) -> list[Library]:
    """Objects with device code of one wheel; empty when that wheel was not read."""
    wanted = (distribution, version)
    return [row for row in all_libraries() if (row.distribution, row.version) == wanted]


def library(distribution: str, version: str, file: str) -> Library | None:
    """One object of one wheel; None when it was not read."""
    return next((row for row in libraries(distribution, version) if row.file == file), None)
