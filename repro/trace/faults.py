"""The errors for a trace that cannot be read."""

from pathlib import Path
from typing import NoReturn

import msgspec

from repro.errors import ReproError
from repro.model.record import Json, Open
from repro.model.trace import FORMAT


class _Tensor(Open, kw_only=True):
    name: str
    shape: list[int] = []
    dtype: str = ""


class _Optimizer(Open, kw_only=True):
    groups: list[Json] = []


class _Module(Open, kw_only=True):
    name: str


class _StartLine(Open, kw_only=True):
    """What readers take from a `start` record."""

    params: list[_Tensor] = []
    buffers: list[_Tensor] = []
    optimizers: list[_Optimizer] = []
    modules: list[_Module] = []


def check_format(path: Path, number: int, start: Json) -> None:
    """Let a `start` record of this version's format pass.

    Raises:
        trace-too-new, trace-too-old: another format. trace-damaged: it is no such record.
    """
    form = start.get("format")
    if not isinstance(form, int) or isinstance(form, bool):
        damaged(path, number, "the `start` record names no format")
    if form > FORMAT:
        _refuse(path, number, form, "trace-too-new", "pip install --upgrade reprobundle")
    if form < FORMAT:
        _refuse(path, number, form, "trace-too-old", "repro run BUNDLE")
    try:
        msgspec.convert(start, _StartLine)
    except msgspec.ValidationError as problem:
        damaged(path, number, str(problem))


def _refuse(path: Path, number: int, form: int, code: str, way_out: str) -> NoReturn:
    raise ReproError(
        code,
        f"`{path.name}` has trace format {form}, this version reads format {FORMAT}",
        found=f"format {form} in `{path}`, line {number}",
        needs=f"format {FORMAT}",
        done="nothing was compared",
        tries=way_out,
    )


def damaged(path: Path, number: int, problem: str) -> NoReturn:
    """Refuse a file for what stands in one of its lines."""
    raise ReproError(
        "trace-damaged",
        f"`{path.name}`, line {number}, cannot be read",
        found=f"{path}:{number}: {problem}",
        needs="one JSON record a line, steps ascending; only the last line of a killed run may be cut",
        why="steps may be missing, and a comparison would not notice",
        done="nothing was compared",
        tries=["copy the run's folder again from where it was made", "repro show"],
    )
