"""All that was compared of two runs, over all their processes and trainings, in one place for the judges."""

from dataclasses import dataclass

from repro.compare.align import Timeline, aligned, by_part
from repro.compare.evalrows import Results, results
from repro.compare.side import Side
from repro.compare.signals import Pair, buffers, first_of, measure, unused_generators
from repro.compare.tally import Tally
from repro.model.verdict import SIGNALS, First, Signal

Round = dict[str, Pair]


@dataclass(frozen=True)
class Measured:
    """The trainings pair by pair, what was counted over all of them, and the results in the end.

    Attributes:
        rounds: for each training in order, its processes by name.
        alone: processes and trainings that only one side has, as sentences.
        tallies: by signal; a signal that neither or only one side recorded has compared nothing.
        first: the earliest difference: of the first training that has one, else of the results.
        buffers_alone: the state at the program's end differs in buffers although all training is equal.
    """

    rounds: list[Round]
    alone: list[str]
    tallies: dict[str, Tally]
    first: First | None
    results: Results
    buffers_alone: bool

    @property
    def pairs(self) -> dict[str, Pair]:
        """All pairs by name, with the number of the training where there are several."""
        several = len(self.rounds) > 1
        return {
            f"{name}, training {number}" if several else name: pair
            for number, members in enumerate(self.rounds, 1)
            for name, pair in members.items()
        }

    @property
    def signals(self) -> dict[str, Signal]:
        """Records of the signals that both sides have, in causal order."""
        seen = {name: tally for name, tally in self.tallies.items() if tally.compared or tally.differs}
        return {name: seen[name].signal() for name in SIGNALS if name in seen}

    @property
    def unseeded(self) -> list[str]:
        """Generators that no step drew from and whose states differ, as if neither run had seeded them."""
        return sorted({name for pair in self.pairs.values() for name in unused_generators(pair)})

    @property
    def differs(self) -> bool:
        """Whether any value that both sides have differs."""
        return any(tally.differs for tally in self.tallies.values())

    def steps(self) -> int:
        """Common steps of the process that has most."""
        return sum(max(len(pair.steps) for pair in members.values()) for members in self.rounds if members)

    def ends_equal(self) -> bool:
        """Whether the last weights of every training were fingerprinted on both sides and are equal."""
        return bool(self.pairs) and not self.alone and all(_same_end(pair) for pair in self.pairs.values())


def take(a: Side, b: Side) -> Measured:
    """Align and compare everything that both runs recorded."""
    rounds, alone = _pair_up(a, b)
    counted = [_count(members) for members in rounds]
    total = {name: Tally() for name in SIGNALS}
    for tallies in counted:
        for name, tally in tallies.items():
            total[name].absorb(tally, later=True)
    last = max((pair.last for pair in _final(rounds).values()), default=0)
    found = results(a, b, last)
    buffers_alone = total["eval"].differs
    found.tally.absorb(total["eval"])
    total["eval"] = found.tally
    first = next((first for tallies in counted if (first := first_of(tallies))), None)
    first = first or first_of({"eval": found.tally})
    return Measured(rounds, alone, total, first, found, buffers_alone)


def notes(found: Measured) -> list[str]:
    """How traces were placed, and what of them could not be compared, as sentences."""
    said = []
    for name, pair in found.pairs.items():
        for side, line in (("a", pair.a), ("b", pair.b)):
            said += [f"{side}, {name}: {note}" for note in line.notes]
        said += [*_length(name, pair), *_micro_batches(name, pair), *_unused(name, pair)]
    return said


def _final(rounds: list[Round]) -> Round:
    return rounds[-1] if rounds else {}


def _count(members: Round) -> dict[str, Tally]:
    total: dict[str, Tally] = {}
    for pair in members.values():
        tallies, moved = {**measure(pair), "eval": Tally()}, buffers(pair)
        tallies["eval" if _only_in_the_end(moved, pair, tallies) else "weights"].absorb(moved)
        for name, tally in tallies.items():
            total.setdefault(name, Tally()).absorb(tally)
    return total


def _only_in_the_end(moved: Tally, pair: Pair, others: dict[str, Tally]) -> bool:
    """Whether buffers differ in the last state alone although every step and every weight is equal.

    The last state is that of the program's end: forward passes outside of the steps moved them.
    """
    return moved.first == pair.last and not any(tally.differs for tally in others.values())


def _pair_up(a: Side, b: Side) -> tuple[list[Round], list[str]]:
    x, y = by_part(a.traces), by_part(b.traces)
    rounds: list[Round] = []
    alone = [f"{name} was traced only in {'a' if name in x else 'b'}" for name in sorted(x.keys() ^ y.keys())]
    for name in sorted(x.keys() & y.keys()):
        for number, (first, second) in enumerate(aligned(x[name], y[name]), 1):
            if first is None or second is None:
                alone.append(f"{name}, training {number} was traced only in {'a' if first else 'b'}")
                continue
            while len(rounds) < number:
                rounds.append({})
            rounds[number - 1][name] = Pair.of(first, second)
    return rounds, alone


def _same_end(pair: Pair) -> bool:
    last = pair.a.last
    if last == 0 or last != pair.b.last or last not in pair.snapshots:
        return False
    x, y = pair.shots(last)
    return bool(x.weights) and x.weights == y.weights and x.buffers == y.buffers


def _length(name: str, pair: Pair) -> list[str]:
    if pair.same_length:
        return []
    span = f"steps {_span(pair.a)} in a, {_span(pair.b)} in b"
    return [f"{name}: {span}; compared on {len(pair.steps)} in common"]


def _span(line: Timeline) -> str:
    return f"{min(line.steps)}-{max(line.steps)}" if line.steps else "none"


def _micro_batches(name: str, pair: Pair) -> list[str]:
    for step in pair.steps:
        x, y = pair.at(step)
        if x.nb != y.nb:
            said = f"{x.nb} micro-batches in a and {y.nb} in b at step {step}"
            return [f"{name}: {said}: batches were not compared where their number differs"]
    return []


def _unused(name: str, pair: Pair) -> list[str]:
    unused = ", ".join(unused_generators(pair))
    return [f"{name}: no step drew from {unused}, whose states differ: not compared"] if unused else []
