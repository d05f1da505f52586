"""What a run does besides training as it is: where it starts, what it keeps, where it ends."""

from dataclasses import dataclass
from pathlib import Path

from repro.engine.contract import Bind

SEED = "/opt/repro/seed.safetensors"
STATES = "/opt/repro/states"


@dataclass(frozen=True)
class Plan:
    """The runtime's options of docs/formats.md, "States, references, dense steps".

    Attributes:
        seed: file of the state to start from; None leaves the start to the program.
        save: steps whose states are kept in the attempt's `states`.
        perturb: number of the noise member, None for none. stop: last step, 0 for the program's own end.
        dense: steps recorded module by module. states: folder of states put in place before them.
        recorded: False starts the program without the recorder.
    """

    seed: Path | None = None
    save: tuple[int, ...] = ()
    perturb: int | None = None
    stop: int = 0
    dense: tuple[int, ...] = ()
    states: Path | None = None
    recorded: bool = True

    @property
    def partial(self) -> bool:
        """Whether such a run is no whole run, so that it never has a result."""
        return self.perturb is not None or bool(self.stop or self.dense)

    def binds(self) -> tuple[Bind, ...]:
        """What a container must see for it, read-only."""
        rows = ((self.seed, SEED), (self.states, STATES))
        return tuple(Bind(path.resolve(), inside) for path, inside in rows if path is not None)

    def words(self, *, contained: bool) -> list[str]:
        """The runtime's own options; with the container's paths, or with those of this machine."""
        seed, states = (SEED, STATES) if contained else (self.seed, self.states)
        rows = (
            ("--seed-state", str(seed) if self.seed else ""),
            ("--save-state", _list(self.save)),
            ("--perturb", "" if self.perturb is None else str(self.perturb)),
            ("--stop-after", str(self.stop) if self.stop else ""),
            ("--dense", _list(self.dense)),
            ("--sync", str(states) if self.states else ""),
        )
        given = [word for option, value in rows if value for word in (option, value)]
        return given if self.recorded else [*given, "--unrecorded"]


def _list(steps: tuple[int, ...]) -> str:
    return ",".join(map(str, sorted(set(steps))))
