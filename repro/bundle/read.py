"""Opens a bundle's folder; everything a later stage needs, decoded."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from repro.errors import ReproError
from repro.files import read_regular
from repro.model.bundle import ImageRecord, Manifest, RunSpec
from repro.model.check import CheckReport
from repro.model.lock import Lock
from repro.model.snapshot import EvalSet, ParamSet, Snapshot

T = TypeVar("T")


@dataclass(frozen=True)
class Bundle:
    """A bundle that could be read. Its files are checked by `verify`, not here."""

    path: Path
    manifest: Manifest
    snapshot: Snapshot
    lock: Lock
    params: ParamSet
    evalset: EvalSet
    spec: RunSpec

    @property
    def title(self) -> str:
        """`name:id12`, as in image tags and run ids."""
        return f"{self.manifest.name}:{self.manifest.id[:12]}"

    def image(self) -> ImageRecord | None:
        """The image built from it on this machine, or None."""
        path = self.path / "image.json"
        return decode(path, ImageRecord) if path.exists() else None

    def findings(self) -> CheckReport | None:
        """What the check said when it was built, or None for a bundle of an older tool."""
        path = self.path / "findings.json"
        return decode(path, CheckReport) if path.exists() else None


def open_bundle(path: Path) -> Bundle:
    """Read a bundle's folder.

    Raises:
        bundle-unreadable: it is no bundle, or a part cannot be decoded.
    """
    if not (path / "bundle.json").is_file():
        raise ReproError(
            "bundle-unreadable",
            f"`{path}` is no bundle",
            found="no bundle.json" if path.is_dir() else "no such folder",
            needs="a folder made by `repro build`",
            tries=["repro build", "repro show"],
        )
    return Bundle(
        path=path.resolve(),
        manifest=decode(path / "bundle.json", Manifest),
        snapshot=decode(path / "snapshot.json", Snapshot),
        lock=decode(path / "lock.json", Lock),
        params=decode(path / "params.json", ParamSet),
        evalset=decode(path / "eval.json", EvalSet),
        spec=decode(path / "protocol.json", RunSpec),
    )


def decode(path: Path, kind: type[T]) -> T:
    """A document of a bundle; raises bundle-unreadable."""
    try:
        return msgspec.json.decode(read_regular(path), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise ReproError(
            "bundle-unreadable",
            f"`{path.name}` of bundle `{path.parent.name}` cannot be read",
            found=str(problem),
            done="nothing was run",
            tries=[f"repro verify {path.parent}", "repro build"],
        ) from problem
