"""What is known about a difference, as names that differ and as facts that rules can ask for.

A fact is a word, such as `first:init`, `rng.equal`, `gradient~rounding`. What is not known gives no fact,
neither the one nor the other. `data/causes.toml` says in words what each means.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from repro.compare.causes import cards, clock, sizes, start
from repro.compare.gate.conditions import row_for
from repro.compare.lines.pair import Pair
from repro.compare.side import Side
from repro.compare.signals.measured import Measured
from repro.model.verdict import SIGNALS, Condition, ProtocolDifference, Replay

CODE = (".py", ".pyx", ".sh", ".ipynb")
GATE = ("params", "protocol", "settings", "command", "inputs", "identity")


@dataclass(frozen=True)
class Evidence:
    """All that rules are held against.

    Attributes:
        first: signal that differs first, empty when none does; step: where.
        names: what differs by name: conditions, parameters, the command, optimizer and model settings.
        facts: words that hold.
    """

    first: str = ""
    step: int = 0
    names: list[str] = field(default_factory=list)
    facts: frozenset[str] = frozenset()

    def has(self, clause: str) -> bool:
        """Whether all facts of a clause hold; ` + ` stands between them."""
        return all(fact in self.facts for fact in clause.split(" + "))


def gathered(
    found: Measured,
    gate: Sequence[ProtocolDifference],
    conditions: Sequence[Condition],
    sides: tuple[Side, Side] | None = None,
    replay: Replay | None = None,
    repeatable: bool | None = None,
) -> Evidence:
    """The evidence of one comparison; without `sides` nothing is known of conditions that are equal."""
    pair = parting(found)
    effective = [row for row in conditions if row.risk != "none"]
    names = [_asked(row) for row in gate if row.class_ != "recorded" and row.key.partition(".")[0] in GATE]
    names += [row.key for row in effective]
    names += start.differing(pair) if pair else []
    names += [f"unseeded.{name}" for name in found.unseeded]
    names += [f"library.{key.partition('.')[2]}" for key in _versions(conditions)]
    names = list(dict.fromkeys(names))
    facts: set[str] = {f"differs:{name}" for name in names}
    facts |= _signals(found) | set(_replayed(replay)) | set(_repeats(names, repeatable))
    if any(row.key == "loader.workers" and None in (row.a, row.b) for row in conditions):
        facts.add("loader.on one side")
    if not any(name.partition(".")[0] in GATE for name in names):
        facts.add("nothing asked differs")
    if pair is not None and found.first is not None:
        facts |= sizes.facts(pair, max(found.first.step, 1), found) | start.facts(pair)
    if sides is not None:
        facts |= cards.facts(*sides, pair) | clock.facts(*sides)
    first = found.first
    return Evidence(first.signal if first else "", first.step if first else 0, names, frozenset(facts))


def parting(found: Measured) -> Pair | None:
    """The pair of trainings in which the first difference lies; the first one where none is told."""
    pairs = list(found.pairs.values())
    if found.first is None or found.first.signal == "eval":
        return pairs[-1] if pairs else None
    return next((pair for pair in pairs if sizes.parts_at(pair, found.first)), pairs[0] if pairs else None)


def _signals(found: Measured) -> set[str]:
    """`first:X`; `X.equal` and `X.differs` of all that was compared, up to the first step that differs."""
    first = found.first
    if first is None:
        return {f"{name}.equal" for name in SIGNALS if found.tallies[name].compared}
    step = max(first.step, 1)
    facts = {f"first:{first.signal}", "first:step 1" if step == 1 else "first:later step"}
    for name in SIGNALS:
        tally = found.tallies[name]
        if tally.first is not None and tally.first <= step:
            facts.add(f"{name}.differs")
        elif tally.compared:
            facts.add(f"{name}.equal")
    if found.buffers_alone:
        facts.add("buffers alone")
    return facts | {f"training.{'equal' if first.signal == 'eval' else 'differs'}"}


def _asked(row: ProtocolDifference) -> str:
    """The key; of a file that the command names alike and that has another content, the file's name."""
    words = [str(value).partition(" (sha256 ") for value in (row.a, row.b)]
    if (
        not row.key.startswith("command.")
        or words[0][0] != words[1][0]
        or not all(mark for _, mark, _ in words)
    ):
        return row.key
    name = words[0][0].rpartition("=")[2]
    return f"inputs.{name}" if name.endswith(CODE) else f"files.{name}"


def _versions(conditions: Sequence[Condition]) -> Iterable[str]:
    """Modules of no package that name another version on the other side, or come by another PYTHONPATH."""
    elsewhere = any(row.key == "env.PYTHONPATH" for row in conditions)
    for row in conditions:
        if not row.key.startswith("modules.") or None in (row.a, row.b):
            continue
        x, y = str(row.a).split(" "), str(row.b).split(" ")
        if elsewhere or (len(x) == len(y) == 3 and x[0] != y[0]):
            yield row.key


def _replayed(replay: Replay | None) -> Iterable[str]:
    if replay is not None and replay.origin is not None:
        yield f"origin:{replay.origin.kind}"
        yield f"origin:{replay.origin.phase}"
        yield from (f"origin.fits:{name}" for name in replay.origin.fits)


def _repeats(names: list[str], repeatable: bool | None) -> Iterable[str]:
    if all(row_for(name).risk in ("low", "none") for name in names):
        yield "nothing differs"
    if repeatable is False:
        yield "repeatable.no"
