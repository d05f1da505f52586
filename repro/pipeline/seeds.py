"""Which state a run starts from: the seed checkpoint of its seed, made by the first run with that seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repro.bundle import Bundle, keep_seed, seed_of
from repro.events import Note, Sink
from repro.run import Ended, Plan
from repro.snapshot.overrides import split

STATE = Path("states") / "step-0.safetensors"


@dataclass(frozen=True)
class Beginning:
    """Where a run starts.

    Attributes:
        file: the seed checkpoint, None to start as the program does.
        seed: value of the seed parameter where it is not the bundle's own.
        keep: the state before the first step becomes the seed checkpoint of that seed.
    """

    file: Path | None = None
    seed: str = ""
    keep: bool = False

    def added_to(self, plan: Plan) -> Plan:
        """The plan of a run that starts there."""
        return replace(plan, seed=self.file, save=(*plan.save, 0) if self.keep else plan.save)


NONE = Beginning()


def beginning(bundle: Bundle, sets: Sequence[str] = ()) -> Beginning:
    """Where a run with these changed parameters starts.

    Without a reference the bundle has no seed checkpoint. With one, another seed has one of its own.

    Raises:
        seed-damaged: the file is not the one that was written.
    """
    own = seed_of(bundle.path, bundle.manifest.id)
    if own is None:
        return NONE
    seed = _other_seed(bundle, sets)
    if not seed:
        return Beginning(own)
    file = seed_of(bundle.path, bundle.manifest.id, seed)
    return Beginning(file, seed, keep=file is None)


def kept(bundle: Bundle, begin: Beginning, ended: Ended, sink: Sink) -> None:
    """Keep the state that a run with a new seed began with, for later runs with that seed."""
    state = ended.attempt / STATE
    if not begin.keep or ended.record.status not in ("ok", "limited"):
        return
    if state.is_file():
        keep_seed(bundle.path, bundle.manifest.id, ended.record.run_id, state, begin.seed)
    else:
        sink(Note("warning", f"no seed checkpoint of seed {begin.seed}: the run stored no state"))


def seed_parameter(bundle: Bundle) -> str:
    """Dotted name of the parameter that `protocol.seed` names; empty when it names none."""
    return str(bundle.spec.protocol.get("parameters", {}).get("seed", ""))


def own_seed(bundle: Bundle) -> object:
    """The seed that the bundle was packed with."""
    return bundle.spec.protocol.get("seed")


def _other_seed(bundle: Bundle, sets: Sequence[str]) -> str:
    value = split(sets).get(seed_parameter(bundle), "")
    return "" if value == str(own_seed(bundle)) else value
