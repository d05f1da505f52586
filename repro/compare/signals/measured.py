"""All that was compared of two runs, over all their processes and trainings, in one place for the judges."""

from dataclasses import dataclass, field

from repro.compare.lines.pair import Pair
from repro.compare.lines.timeline import Timeline
from repro.compare.side import Side
from repro.compare.signals.align import aligned, by_part
from repro.compare.signals.evalrows import Results, results
from repro.compare.signals.firsttold import told
from repro.compare.signals.micro import MicroBatches, micro_batches
from repro.compare.signals.tally import Tally
from repro.compare.signals.walk import buffers, first_of, measure, unused_generators
from repro.model.columns import UNREAD
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
        reading: how traces were read, where that needs a word, and which of them are empty, as sentences.
    """

    rounds: list[Round]
    alone: list[str]
    tallies: dict[str, Tally]
    first: First | None
    results: Results
    buffers_alone: bool
    reading: list[str] = field(default_factory=list)

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
    def micro_batches(self) -> dict[str, MicroBatches]:
        """How batches were cut otherwise, and the ratios that come of it, by the name of the pair."""
        found = {name: micro_batches(pair) for name, pair in self.pairs.items()}
        return {name: cut for name, cut in found.items() if cut is not None}

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
    for tallies, _ in counted:
        for name, tally in tallies.items():
            total[name].absorb(tally, later=True)
    last = max((pair.last for pair in _final(rounds).values()), default=0)
    found = results(a, b, last)
    found.tally.absorb(total["eval"])
    total["eval"] = found.tally
    places = (
        told(first_of(tallies), members.values(), tallies)
        for members, (tallies, _) in zip(rounds, counted, strict=True)
    )
    first = next((place for place in places if place), None) or first_of({"eval": found.tally})
    at_end = any(at_end for _, at_end in counted)
    return Measured(rounds, alone, total, first, found, at_end, [*_reading("a", a), *_reading("b", b)])


def notes(found: Measured) -> list[str]:
    """How traces were placed, and what of them could not be compared, as sentences."""
    said = list(found.reading)
    for name, pair in found.pairs.items():
        for side, line in (("a", pair.a), ("b", pair.b)):
            said += [f"{side}, {name}: {note}" for note in line.notes]
        said += [*_length(name, pair), *_unused(name, pair)]
    said += [_cut(name, cut) for name, cut in found.micro_batches.items()]
    return said + [note for name, tally in found.tallies.items() for note in _thinned(name, tally)]


def _reading(name: str, side: Side) -> list[str]:
    empty = [
        f"{name}: {trace.file or 'a trace'} holds no record" for trace in side.traces if not trace.segments
    ]
    return [*empty, *(f"{name}: {note}" for trace in side.traces for note in trace.notes)]


def _final(rounds: list[Round]) -> Round:
    return rounds[-1] if rounds else {}


def _count(members: Round) -> tuple[dict[str, Tally], bool]:
    """Tallies over the processes of one training, and whether buffers differ in the end alone."""
    total: dict[str, Tally] = {}
    at_end = False
    for pair in members.values():
        tallies, moved = measure(pair), buffers(pair)
        alone = _only_in_the_end(moved, pair, tallies)
        tallies["eval" if alone else "weights"].absorb(moved)
        at_end = at_end or alone
        for name, tally in tallies.items():
            total.setdefault(name, Tally()).absorb(tally)
    return total, at_end


def _only_in_the_end(moved: Tally, pair: Pair, others: dict[str, Tally]) -> bool:
    """Whether buffers differ in the last state alone although every step and every weight is equal.

    The last state is that of the program's end: forward passes outside of the steps moved them.
    """
    trained = (tally for name, tally in others.items() if name != "eval")
    return moved.differs and moved.first == pair.last and not any(tally.differs for tally in trained)


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
    read = UNREAD not in x.weights and UNREAD not in x.buffers
    return bool(x.weights) and read and x.weights == y.weights and x.buffers == y.buffers


def _length(name: str, pair: Pair) -> list[str]:
    if pair.same_length:
        return []
    span = f"steps {_span(pair.a)} in a, {_span(pair.b)} in b"
    return [f"{name}: {span}; compared on {len(pair.steps)} in common"]


def _span(line: Timeline) -> str:
    return f"{line.steps.first}-{line.last}" if line.steps else "none"


def _cut(name: str, cut: MicroBatches) -> str:
    said = f"{name}: {cut.a} micro-batches in a and {cut.b} in b at step {cut.step}"
    ratios = [
        f"{what} in b are {ratio:.4g} times those in a"
        for what, ratio in (("losses", cut.loss), ("gradient norms", cut.gradient))
        if ratio is not None
    ]
    return f"{said}; recorded as sums over them, {' and '.join(ratios)}" if ratios else said


def _thinned(name: str, tally: Tally) -> list[str]:
    return [
        f"{name}: the recorder left out {count} values in {side}: compared where both runs have it"
        for side, count in sorted(tally.thinned.items())
    ]


def _unused(name: str, pair: Pair) -> list[str]:
    unused = ", ".join(unused_generators(pair))
    return [f"{name}: no step drew from {unused}, whose states differ: not compared"] if unused else []
