"""The second question over two groups of runs: which of them count, all tests together, one word."""

from collections.abc import Sequence

from repro.compare.chance import statistics
from repro.compare.gate.declared import Declared, declared
from repro.compare.results import samples, target
from repro.compare.results.decide import decided, tested
from repro.compare.results.outcome import OFFER
from repro.compare.results.samples import Group
from repro.model.verdict import Statistic

Settled = tuple[str, list[Statistic], list[str]]


def settled(reference: Group, candidates: Group) -> Settled:
    """One of the outcomes, the statistics of every declared metric, and the sentences that say why."""
    wanted = declared(*reference, *candidates)
    groups, said = _counted(reference, candidates)
    ruined = [[samples.broken(side, [*wanted.margins]) for side in group] for group in groups]
    said += _ruined(ruined)
    if any(ruined[1]) and not any(ruined[0]):
        return "diverged", [], [*said, "no run of a broke"]
    a, b = (
        [side for side, why in zip(group, whys, strict=True) if not why]
        for group, whys in zip(groups, ruined, strict=True)
    )
    if not a or not b:
        return "untested", [], [*said, "no run that counts is left on one side"]
    if not wanted.margins:
        return "untested", [], [*said, OFFER]
    return _tested(wanted, a, b, said)


def overall(words: Sequence[str]) -> str:
    """One word for all declared metrics: equivalence needs every one of them."""
    if "diverged" in words:
        return "diverged"
    if not set(words) - {"untested"}:
        return "untested"
    if {"inconclusive", "untested"} & set(words):
        return "inconclusive"
    return "different-but-equivalent" if "different-but-equivalent" in words else "equivalent"


def _tested(wanted: Declared, a: Group, b: Group, said: list[str]) -> Settled:
    """All tests at once: p of the differences are corrected over all of them."""
    found = [samples.sample(name, wanted, a, b) for name in wanted.margins]
    tests = [tested(sample) for sample in found if sample is not None]
    said += [
        f"`{name}` was not recorded by every run"
        for name, sample in zip(wanted.margins, found, strict=True)
        if sample is None
    ]
    reach = target.reach(wanted, a, b)
    corrected = statistics.holm([*(one.p for one in tests), reach.p])
    rows, words = [], ["untested"] * found.count(None)
    count = sum(p is not None for p in corrected)
    for one, p in zip(tests, corrected, strict=False):
        row, sentences = decided(one, p, count)
        rows.append(row)
        words.append(row.outcome)
        said += sentences
    word, row_of_target, sentences = target.decided(reach, corrected[-1])
    rows += row_of_target
    words += [word] if word == "diverged" else []
    return overall(words), rows, [*said, *sentences]


def _counted(reference: Group, candidates: Group) -> tuple[list[Group], list[str]]:
    """The runs of both sides that finished and are draws of their own, and what is said of the others."""
    kept: list[Group] = []
    said: list[str] = []
    for name, group in (("a", reference), ("b", candidates)):
        whole = [side for side in group if side.run.complete]
        kept.append(samples.distinct(whole))
        if short := len(group) - len(whole):
            said.append(f"{short} of {len(group)} runs of {name} did not finish and are not counted")
        if same := len(whole) - len(kept[-1]):
            said.append(f"{same} runs of {name} repeat another one in every bit and are not counted")
    return kept, said


def _ruined(ruined: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"{sum(map(bool, whys))} of {len(whys)} runs of {name} broke: {max(whys)}"
        for name, whys in zip("ab", ruined, strict=True)
        if any(whys)
    ]
