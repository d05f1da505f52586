"""What a run was made from: identity, protocol and parameters.

Parameters as used lie beside the record (`params.json`). Identity and protocol stand in `run.json`
where the runtime wrote them there; otherwise the bundle that the folder lies in is asked, if it is
the bundle that the run names.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from repro.model.record import Json, Open
from repro.model.run import Attempt
from repro.trace.parts import decode_if_there, unreadable

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Each part is empty when it is not known."""

    identity: Json = field(default_factory=dict)
    protocol: Json = field(default_factory=dict)
    params: Json = field(default_factory=dict)
    params_file: str = ""


class _Noted(Open):
    """What `run.json` says of the bundle."""

    id: str = ""
    identity: dict[str, str] = {}
    protocol: Json = {}


class _Params(Open):
    schema: int = 1
    file: str = ""
    values: Json = {}


def origin_of(folder: Path, attempt: Attempt) -> Origin:
    """Identity digests, `protocol.json` and parameter values as used of the attempt in `folder`."""
    noted = _noted(folder, attempt)
    around = _bundle_around(folder, noted.id)
    params = decode_if_there(folder / "params.json", _Params) or _Params()
    return Origin(
        identity=noted.identity or _part(around, "bundle.json", _Noted).identity,
        protocol=noted.protocol or _part(around, "protocol.json", dict),
        params=params.values,
        params_file=params.file,
    )


def _noted(folder: Path, attempt: Attempt) -> _Noted:
    try:
        return msgspec.convert(attempt.bundle, _Noted)
    except msgspec.ValidationError as problem:
        raise unreadable(
            "what `run.json` says of its bundle cannot be read",
            found=f"{folder / 'run.json'}: {problem}",
            needs="the file as the runtime wrote it",
        ) from problem


def _bundle_around(folder: Path, bundle_id: str) -> Path | None:
    place = folder.parent.parent.parent
    known = _part(place, "bundle.json", _Noted).id
    return place if bundle_id and known == bundle_id else None


def _part(folder: Path | None, name: str, kind: type[T]) -> T:
    return (decode_if_there(folder / name, kind) if folder else None) or kind()
