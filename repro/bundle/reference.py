"""The reference of a bundle: its seed checkpoint, its run, noise members, dense steps and their states."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from repro.errors import ReproError
from repro.files import link_or_copy, read_regular, sha256_file, sync_folder, write_whole
from repro.model import canonical
from repro.model.reference import ReferenceRecord, SeedRecord
from repro.model.run import plain_word

T = TypeVar("T")


@dataclass(frozen=True)
class Places:
    """Where the parts lie in a bundle's folder, whether they are there or not."""

    bundle: Path

    def seed(self, seed: str = "") -> Path:
        """The seed checkpoint; of another seed than the bundle's own when one is given."""
        return self.bundle / "seed" / f"{_name(seed)}.safetensors"

    def seed_record(self, seed: str = "") -> Path:
        """What is written of a seed checkpoint, after it."""
        return self.bundle / "seed" / f"{_name(seed)}.json"

    @property
    def folder(self) -> Path:
        """All that was run for the reference."""
        return self.bundle / "reference"

    @property
    def run(self) -> Path:
        """Folder of the reference run."""
        return self.folder / "run"

    @property
    def record(self) -> Path:
        """Written last: with it the reference is whole."""
        return self.folder / "reference.json"

    def member(self, number: int) -> Path:
        """Folder of a noise member's run; 0 is a plain repeat of the reference."""
        return self.folder / f"member-{number}"

    @property
    def dense(self) -> Path:
        """Folder of the run of dense steps."""
        return self.folder / "dense"

    @property
    def states(self) -> Path:
        """Folder of the states that dense steps begin with."""
        return self.dense / "attempt-1" / "states"


@dataclass(frozen=True)
class Reference:
    """A reference that is whole."""

    places: Places
    record: ReferenceRecord

    @property
    def members(self) -> list[Path]:
        """Folders of the noise members, and of the plain repeat where one was needed."""
        return [self.places.member(number) for number in self.record.members]


def reference_of(bundle: Path) -> Reference | None:
    """The reference of the bundle in that folder; None when it has none, or one that is not whole.

    Raises:
        reference-unreadable: its record is damaged, or a part that it names is not there.
    """
    places = Places(bundle)
    if not places.record.is_file():
        return None
    found = Reference(places, _decode(places.record, ReferenceRecord))
    for part in (places.run, *found.members, *([places.dense] if found.record.dense else [])):
        if not any(part.glob("attempt-*/run.json")):
            raise unreadable(bundle, f"no run lies in `{part}`")
    return found


def bundle_around(run: Path) -> Path | None:
    """The bundle whose `runs` or `reference` a run's folder lies in; None when it lies elsewhere."""
    folder = run.resolve()
    lies = folder.parent.name in ("runs", "reference")
    return folder.parent.parent if lies and (folder.parent.parent / "bundle.json").is_file() else None


def seed_record(bundle: Path, seed: str = "") -> SeedRecord | None:
    """What is written of a seed checkpoint; None when there is none, or one whose file was being written."""
    path = Places(bundle).seed_record(seed)
    return _decode(path, SeedRecord) if path.is_file() else None


def seed_of(bundle: Path, bundle_id: str, seed: str = "") -> Path | None:
    """A seed checkpoint of the bundle, held against its digest; None when there is none.

    Raises:
        seed-damaged: it is not the one that was written, or one of another bundle.
    """
    file, record = Places(bundle).seed(seed), seed_record(bundle, seed)
    if record is None:
        return None
    found = sha256_file(file) if file.is_file() else "no such file"
    if (found, bundle_id) != (record.sha256, record.bundle):
        raise ReproError(
            "seed-damaged",
            f"the seed checkpoint of bundle `{bundle.name}` is not the one that its reference started from",
            found=[f"sha256 {found}" if found != record.sha256 else f"made for bundle {record.bundle[:12]}"],
            needs=[f"sha256 {record.sha256}, for bundle {bundle_id[:12]}"],
            why="runs that start from other weights are no runs of one training",
            done="nothing was run",
            tries=[
                f"fetch `{file}` again from where the bundle came",
                "repro run --no-seed-checkpoint",
            ],
        )
    return file


def keep_seed(bundle: Path, bundle_id: str, run: str, state: Path, seed: str = "") -> SeedRecord:
    """Make `state`, of the run of that id, the bundle's seed checkpoint; the record is written last."""
    places = Places(bundle)
    places.seed_record(seed).unlink(missing_ok=True)
    link_or_copy(state, places.seed(seed))
    sync_folder(places.seed(seed).parent)
    record = SeedRecord(bundle=bundle_id, run=run, sha256=sha256_file(state), bytes=state.stat().st_size)
    write_whole(places.seed_record(seed), canonical.pretty(record))
    return record


def _name(seed: str) -> str:
    return f"seed-{plain_word(seed)}" if seed else "state"


def _decode(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(read_regular(path), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise unreadable(path.parent.parent, f"{path}: {problem}") from problem


def unreadable(bundle: Path, found: str) -> ReproError:
    """The error for a reference that cannot be used as it lies there."""
    return ReproError(
        "reference-unreadable",
        f"the reference of bundle `{bundle.name}` cannot be read",
        found=found,
        needs="the folders `seed` and `reference` as `repro run --make-reference` left them",
        done="nothing was run",
        tries=[
            f"repro run {bundle} --make-reference      (what is whole is kept)",
            "fetch the bundle again, with `seed` and `reference`",
        ],
    )
