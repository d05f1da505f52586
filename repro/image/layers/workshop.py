"""What the layers of an environment are made with, and the locked wheels, held against their digests."""

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from repro.engine.contract import ImageEngine
from repro.errors import ReproError
from repro.events import Sink
from repro.files import sha256_file
from repro.image.layers.piece import Pieces
from repro.model.lock import Wheel


@dataclass(frozen=True)
class Workshop:
    """Where layers are made.

    Attributes:
        folder: of the bundle, with `wheels/`.
        base: the engine's id of the base image; `base_key` names its content on every engine.
        scratch: folder for what is needed meanwhile.
    """

    folder: Path
    base: str
    base_key: str
    engine: ImageEngine
    pieces: Pieces
    scratch: Path
    sink: Sink

    def path(self, wheel: Wheel) -> Path:
        """Where a locked file lies."""
        return self.folder / "wheels" / wheel.file

    def opened(self, wheel: Wheel) -> ZipFile:
        """A locked wheel; raises wheel-broken when it is none."""
        try:
            return ZipFile(self.path(wheel))
        except (BadZipFile, OSError) as problem:
            raise ReproError(
                "wheel-broken",
                f"`{wheel.file}` is no wheel that can be read",
                found=str(problem),
                done="nothing was made",
                tries=["repro verify", "repro build --relock"],
            ) from problem

    def check(self, wheel: Wheel) -> None:
        """Hold a file against the lock, as pip does with --require-hashes; raises wheel-not-locked."""
        path = self.path(wheel)
        found = f"sha256 {sha256_file(path)}" if path.is_file() else "no such file"
        if found != f"sha256 {wheel.sha256}":
            raise ReproError(
                "wheel-not-locked",
                f"`{wheel.file}` is not the file that was locked",
                found=found,
                needs=f"sha256 {wheel.sha256}",
                done="nothing was made",
                tries=["repro verify", "repro build"],
            )
