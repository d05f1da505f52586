"""Where two runs part in training: the first training that differs, and the first step in it that does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from repro.compare.lines.pair import Pair
from repro.compare.signals.measured import Measured
from repro.compare.signals.tally import Tally
from repro.compare.signals.walk import buffers, measure
from repro.model.verdict import SIGNALS

COMPUTED = tuple(name for name in SIGNALS if name not in ("samples", "rng", "eval"))


@dataclass(frozen=True)
class Parted:
    """The training in which the runs part.

    Attributes:
        pairs: its processes. first: whether it is the first training.
        seen: first step at which anything differs.
        step: first step at which what was computed differs; `seen` where only samples or generators do.
        computed: signals of those that differ.
    """

    pairs: Sequence[Pair]
    first: bool
    seen: int
    step: int
    computed: Sequence[str]


def parted(found: Measured) -> Parted | None:
    """Where the runs part in training; None where all of it is equal, whatever the results."""
    for number, members in enumerate(found.rounds):
        pairs = list(members.values())
        firsts = _firsts(found.tallies) if len(found.rounds) == 1 else _firsts_in(pairs)
        if firsts:
            computed = [name for name in COMPUTED if name in firsts]
            step = min((firsts[name] for name in computed), default=min(firsts.values()))
            return Parted(pairs, number == 0, min(firsts.values()), step, computed)
    return None


def _firsts(tallies: Mapping[str, Tally]) -> dict[str, int]:
    known = {name: tally.first for name, tally in tallies.items() if name != "eval"}
    return {name: step for name, step in known.items() if step is not None}


def _firsts_in(pairs: Sequence[Pair]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pair in pairs:
        moved = buffers(pair).first
        at_end = {} if moved is None or moved == pair.last else {"weights": moved}
        for name, step in [*_firsts(measure(pair)).items(), *at_end.items()]:
            found[name] = min(step, found.get(name, step))
    return found
