"""One verdict for several runs a side: the pair's answers, and statistics for the second question."""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from repro.compare.gate import protocol
from repro.compare.gate.declared import seed_keys, seed_of
from repro.compare.judge import judge as judge_pair
from repro.compare.results import samples
from repro.compare.results.outcome import said_of_one_pair
from repro.compare.results.samples import Group
from repro.compare.results.settle import settled
from repro.compare.side import Side
from repro.compare.signals import flips
from repro.compare.words import strongest
from repro.model.verdict import Verdict


def judge(
    reference: Sequence[Side],
    candidates: Sequence[Side],
    *,
    allow: Collection[str] = (),
    members: Sequence[Side] = (),
    dense: tuple[Side, Side] | None = None,
) -> Verdict:
    """The verdict for two groups of runs, each of one run or more.

    First question, signals, conditions and flips are those of one pair, of one seed where there is such a
    pair; the second question is answered by statistics over all runs. Within a group nothing of the protocol
    may differ but the seed. `members` and `dense` are those of the pair, see `judge.judge`.
    """
    again = _made_again(reference, candidates)
    reference, candidates = samples.standing(reference), samples.standing(candidates)
    a, b = first_pair(reference, candidates)
    pair = judge_pair(a, b, allow=_allowed(a, b, allow), members=members, dense=dense)
    if len(reference) == len(candidates) == 1:
        return pair
    mixed = [*_mixed("a", reference, allow), *_mixed("b", candidates, allow)]
    word, rows, said = settled(reference, candidates)
    if equal := _all_equal(reference, candidates, pair):
        word, said = "equivalent", [*said, "both runs of every seed are equal in every bit"]
    dropped = said_of_one_pair(pair.metrics)
    return msgspec.structs.replace(
        pair,
        a=_name(reference, pair.a),
        b=_name(candidates, pair.b),
        outcome=word,
        verdict=_top(pair, word, mixed, [*reference, *candidates], equal),
        statistics=rows,
        noise={**pair.noise, **flips.noise("seeds", reference)},
        evidence=[
            *mixed,
            *again,
            *said,
            *flips.mcnemar_said(flips.mcnemar(by_seed(reference, candidates))),
            f"numerics, signals and single answers are those of one pair: {pair.a} and {pair.b}",
            *(sentence for sentence in pair.evidence if sentence not in dropped),
            *_members(reference, candidates),
        ],
        not_controlled=[*pair.not_controlled, *_one_seed(reference, candidates)],
    )


def first_pair(reference: Group, candidates: Group) -> tuple[Side, Side]:
    """The first whole runs of one seed, else the first whole runs of both sides, else the first runs."""
    a, b = ([side for side in group if side.run.complete] or list(group) for group in (reference, candidates))
    pairs = ((x, y) for x in a for y in b if seed_of(x) is not None and seed_of(x) == seed_of(y))
    return next(pairs, (a[0], b[0]))


def _allowed(a: Side, b: Side, allow: Collection[str]) -> Collection[str]:
    """With other seeds on both sides the seed may differ: statistics compare what seeds spread."""
    return {*allow, *(row.key for row in protocol.differences(a, b, seed_keys(a, b)) if row.allowed)}


def _mixed(name: str, group: Group, allow: Collection[str]) -> list[str]:
    """What must be equal within a group and is not, each with the run that has it otherwise."""
    seen: dict[str, str] = {}
    for side in group[1:]:
        for row in protocol.differences(group[0], side, [*allow, *seed_keys(group[0], side)]):
            if row.class_ == protocol.MUST and not row.allowed:
                seen.setdefault(row.key, f"{name} mixes runs that must not differ: {row.key} in {side.name}")
    return list(seen.values())


def _top(pair: Verdict, word: str, mixed: list[str], sides: Group, equal: bool) -> str:
    holds = {word, pair.numerics if equal or pair.numerics != "identical" else "untested"}
    if mixed or pair.verdict == "incomparable":
        holds.add("incomparable")
    if any(side.unfinished for side in sides):
        holds.add("incomplete")
    if pair.first is not None and pair.numerics in ("untested", "identical"):
        holds.add("inconclusive")
    return strongest(holds)


def _all_equal(reference: Group, candidates: Group, pair: Verdict) -> bool:
    """Whether every run has its partner by seed, and is equal to it in every bit."""
    if pair.numerics != "identical" or len(reference) != len(candidates):
        return False
    pairs = list(by_seed(reference, candidates))
    return len(pairs) == len(reference) and all(judge_pair(a, b).numerics == "identical" for _, a, b in pairs)


def by_seed(reference: Group, candidates: Group) -> Iterator[tuple[str, Side, Side]]:
    """Seed and both runs of every pair."""
    for i, j in samples.seed_pairs(reference, candidates):
        yield str(seed_of(reference[i])), reference[i], candidates[j]


def _name(group: Group, name: str) -> str:
    """A group by the label that its runs share and their number; a single run as in the verdict of a pair."""
    labels = {side.run.attempt.label for side in group}
    shared = labels.pop() if len(labels) == 1 else ""
    return name if len(group) == 1 else f"{shared or 'group'} ({len(group)} runs)"


def _members(reference: Group, candidates: Group) -> list[str]:
    both = (("a", reference), ("b", candidates))
    return [
        f"runs of {name}: {', '.join(_id(side) for side in group)}" for name, group in both if len(group) > 1
    ]


def _id(side: Side) -> str:
    return side.run.attempt.run_id or side.name


def _made_again(reference: Group, candidates: Group) -> list[str]:
    return [
        f"{count} unfinished runs of {name} were made again with their seeds and are left out"
        for name, group in (("a", reference), ("b", candidates))
        if (count := len(group) - len(samples.standing(group)))
    ]


def _one_seed(reference: Group, candidates: Group) -> list[str]:
    said = "all runs have one seed, so their spread is that of repeats and says nothing of other seeds"
    return [f"seeds of {n}: {said}" for n, g in (("a", reference), ("b", candidates)) if samples.one_seed(g)]
