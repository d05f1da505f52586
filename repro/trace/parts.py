"""Decodes one file of a run, and says which file and why when that fails."""

from pathlib import Path
from typing import TypeVar

import msgspec

from repro.errors import ReproError
from repro.files import read_regular
from repro.model.record import Json

SCHEMA = 1
T = TypeVar("T")


def decode(path: Path, kind: type[T]) -> T:
    """The file's content as `kind`.

    Raises:
        run-unreadable: it cannot be read or does not hold such a record.
        run-too-new: its `schema` is above the one this version knows.
    """
    try:
        data = read_regular(path)
        _check_schema(path, data)
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as problem:
        raise unreadable(
            f"`{path.name}` of run `{path.parent.parent.name}` cannot be read",
            found=f"{path}: {problem}",
            needs="the file as the runtime wrote it",
        ) from problem


def decode_if_there(path: Path, kind: type[T]) -> T | None:
    """Like `decode`, or None when the file does not exist."""
    return decode(path, kind) if path.is_file() else None


def read_rows(path: Path, *, whole: bool) -> list[Json]:
    """Evaluation rows, one dict a line; the cut last line of a run that is not `whole` is passed over."""
    if not path.is_file():
        return []
    rows: list[Json] = []
    decoder = msgspec.json.Decoder(dict)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                rows += [decoder.decode(line)] if line.strip() else []
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                if whole or file.read(1):
                    raise unreadable(
                        f"`{path.name}`, line {number}, cannot be read",
                        found=f"{path}:{number}: {problem}",
                        needs="one JSON object a line",
                    ) from problem
    return rows


def unreadable(message: str, *, found: str, needs: str) -> ReproError:
    """The error for a folder or file that is not what a run consists of."""
    return ReproError(
        "run-unreadable",
        message,
        found=found,
        needs=needs,
        done="nothing was compared",
        tries="repro show",
    )


class _Schema(msgspec.Struct):
    schema: int = SCHEMA


def _check_schema(path: Path, data: bytes) -> None:
    schema = msgspec.json.decode(data, type=_Schema).schema
    if schema > SCHEMA:
        raise ReproError(
            "run-too-new",
            f"`{path.name}` was written by a newer runtime",
            found=f"schema {schema} in `{path}`",
            needs=f"schema {SCHEMA}",
            done="nothing was compared",
            tries="pip install --upgrade reprobundle",
        )
