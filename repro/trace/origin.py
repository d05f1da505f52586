"""What a run was made from: identity, protocol and parameters.

Parameters as used lie beside the record (`params.json`). Identity and protocol stand in `run.json`
where the runtime wrote them there; otherwise the bundle that the folder lies in is asked, if it is
the bundle that the run names.
"""

from dataclasses import dataclass, field
from pathlib import Path

from repro.model.record import Json, Open
from repro.model.run import Attempt
from repro.trace.parts import decode_if_there


@dataclass(frozen=True)
class Origin:
    """Each part is empty when it is not known."""

    identity: Json = field(default_factory=dict)
    protocol: Json = field(default_factory=dict)
    params: Json = field(default_factory=dict)
    params_file: str = ""


class _Params(Open):
    schema: int = 1
    file: str = ""
    values: Json = {}


def origin_of(folder: Path, attempt: Attempt) -> Origin:
    """Identity digests, `protocol.json` and parameter values as used of the attempt in `folder`."""
    noted = attempt.bundle
    around = _bundle_around(folder, str(noted.get("id", "")))
    params = decode_if_there(folder / "params.json", _Params) or _Params()
    return Origin(
        identity=noted.get("identity") or _part(around, "bundle.json").get("identity", {}),
        protocol=noted.get("protocol") or _part(around, "protocol.json"),
        params=params.values,
        params_file=params.file,
    )


def _bundle_around(folder: Path, bundle_id: str) -> Path | None:
    place = folder.parent.parent.parent
    known = _part(place, "bundle.json").get("id")
    return place if bundle_id and known == bundle_id else None


def _part(folder: Path | None, name: str) -> Json:
    return (decode_if_there(folder / name, dict) if folder else None) or {}
