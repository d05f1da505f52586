"""Packages without a file at hand: whether their code serves the card, by what is said and known of them."""

import re
from collections.abc import Iterator

from repro.check.code.containers import chip
from repro.check.code.serving import in_words, serving
from repro.check.finding import finding
from repro.check.known.policy import Known, Prebuilt, faults, lowest_of, prebuilt_of, version_for
from repro.check.known.variants import variants
from repro.check.rules.extras import is_locked, is_prebuilt, mentioned, minor, name_of, place_of
from repro.check.words.extra_targets import may_reach, targets_of
from repro.model.check import Extra, Finding, Stack, Target

# Compiled when it is first called, on the card at hand: nothing about the card can be wrong in advance.
_FIRST_USE = re.compile(
    r"first (?:use|call|run|import)|at run ?time|on demand|just[- ]in[- ]time|\bjit\b", re.IGNORECASE
)


# Compiled where it runs: torch's builder takes the card that it sees.
_ON_THE_SPOT = re.compile(
    r"\b(?:on|with|in) (?:the|this|that|its)(?: (?:same|very|target|own|running))?"
    r" (?:machine|card|gpu|host|node|server|box)\b"
    r"|\blocally\b",
    re.IGNORECASE,
)


def code_of_extras(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on code for the card in packages that are only described."""
    for extra, row in mentioned(stack):
        if target.capability and not _FIRST_USE.search(extra.how):
            yield from _too_old(extra, row, target) or _code(extra, row, stack, target)


def _too_old(extra: Extra, row: Known | None, target: Target) -> list[Finding]:
    """The card is below what the package's kernels start at."""
    lowest = lowest_of(row, extra.version) if row else ""
    if row is None or not lowest or chip(target.capability) >= chip(lowest):
        return []
    return [
        _tell(
            "extra-needs-newer-card", extra, f"{name_of(extra)} on a card of {target.capability}",
            f"capability {lowest} or newer",
            [f"leave {extra.name} out", f"a card of {lowest} or newer"], row.source,
        )
    ]  # fmt: skip


def _code(extra: Extra, row: Known | None, stack: Stack, target: Target) -> Iterator[Finding]:
    said = targets_of(extra)
    if chip(target.capability) in said.lacking:
        yield _none(extra, target, f"{name_of(extra)}: {extra.how}", "")
    elif said.named and not may_reach(said, target.capability):
        yield from _listed(extra, said.named, "", target)
    elif said.cards:
        yield from _made_on(extra, said.cards, target)
    elif said.named or not (files := _published(extra, row, target)):
        yield from _unsaid(extra, row, stack, target)
    else:
        yield from _listed(extra, files.archs, files.source, target)
    version = version_for(extra.name, extra.version, stack.torch.version)
    for fault in faults(extra.name, version, target.capability) if extra.built != "source" else ():
        found = f"{name_of(extra)} on {target.capability}: {fault.what}"
        yield _tell("extra-known-fault", extra, found, f"{extra.name} without it", fault.fix, fault.source)


def _published(extra: Extra, row: Known | None, target: Target) -> Prebuilt | None:
    """The release's own files, where their targets decide: what is compiled anew has those and maybe more."""
    files = prebuilt_of(extra.name, extra.version)
    if files is None or not files.archs:
        return None
    served = serving(files.archs, (), target.capability)[0] != "none"
    return files if served or is_prebuilt(extra, row) or not extra.built else None


def _listed(extra: Extra, archs: tuple[str, ...], source: str, target: Target) -> Iterator[Finding]:
    """Targets that are known, held against the card."""
    sass = [name for name in archs if name.startswith("sm_")]
    ptx = [name for name in archs if name.startswith("compute_")]
    word, _ = serving(sass, ptx, target.capability)
    found = f"{name_of(extra)} has code for {in_words(archs)}"
    if word == "none":
        yield _none(extra, target, found, source)
    elif word == "jit":
        yield _tell("extra-jit", extra, f"{found}; {target.capability} is served by PTX", "", [], source)


def _made_on(extra: Extra, cards: tuple[str, ...], target: Target) -> Iterator[Finding]:
    """Compiled on some card: its code is for that card, and torch adds PTX of the newest one there."""
    word, _ = serving([_sm(card) for card in cards], (), target.capability)
    if word != "none":
        return
    found = f"{name_of(extra)} was compiled on a card of {' and '.join(cards)}"
    if any(chip(card) < chip(target.capability) for card in cards):
        needed = f"code for {_sm(target.capability)}"
        yield _tell("extra-other-card", extra, found, needed, _rebuild(extra, target))
    else:
        yield _none(extra, target, found, "")


def _unsaid(extra: Extra, row: Known | None, stack: Stack, target: Target) -> Iterator[Finding]:
    """Nobody said which cards it has code for."""
    if "ARCH_LIST" in extra.how or (row and not row.gpu) or (not row and not extra.built):
        return
    if extra.built == "source" and _ON_THE_SPOT.search(extra.how):
        return
    alike = extra.for_torch and minor(extra.for_torch) == minor(stack.torch.version)
    risky = extra.built and not alike and not targets_of(extra).open_above
    if is_locked(stack, extra) or (stack.torch.cuda and variants(extra.name, extra.version)):
        return
    yield _tell(
        "extra-code-unknown" if risky else "extra-code-unsaid", extra,
        f"{name_of(extra)}{': ' + extra.how if extra.how else ''}, no targets named",
        f"code for {_sm(target.capability)}",
        [f"look into the file: repro check --wheel FILE --gpu {target.gpu or target.capability}",
         *(_rebuild(extra, target) if extra.built == "source" else [])],
    )  # fmt: skip


def _none(extra: Extra, target: Target, found: str, source: str) -> Finding:
    return _tell("extra-no-code", extra, f"{found}; the card is {target.capability}",
                 f"code for {_sm(target.capability)}", _rebuild(extra, target), source)  # fmt: skip


def _tell(
    code: str, extra: Extra, found: str, needed: str, fix: str | list[str], source: str = ""
) -> Finding:
    return finding(code, found, needed=needed, fix=fix, source=source, where=place_of(extra))


def _rebuild(extra: Extra, target: Target) -> list[str]:
    return [
        f"compile {extra.name} with TORCH_CUDA_ARCH_LIST={target.capability}",
        f"or take a file of {extra.name} with {_sm(target.capability)}",
    ]


def _sm(capability: str) -> str:
    return f"sm_{capability.replace('.', '')}"
