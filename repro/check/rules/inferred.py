"""Whether a torch that no table names serves a card: what can be said of all builds that it may be."""

from collections.abc import Iterator

from packaging.version import Version

from repro.check.code.containers import Word
from repro.check.code.serving import serving
from repro.check.finding import finding
from repro.check.known.builds import candidates, known_releases, parsed
from repro.check.known.called import code_for, several, torch_name
from repro.check.known.remedy import oldest_serving, remedies
from repro.check.rules.named import ASK_TORCH
from repro.model.check import Finding, Stack, Target, Torch
from repro.tables.toolkits import toolkit

# Newest toolkit of wheels before the first release of the table: torch 0.3.1 had a build for CUDA 9.1.
_LAST_BEFORE_TABLE = "9.1"
_GIVE_LIST = 'repro check --arch-list "sm_80 sm_90"'


def inferred(stack: Stack, target: Target) -> Iterator[Finding]:
    """One finding on a torch of whose targets only words, and so several builds, are known."""
    builds = candidates(stack.torch, stack.python)
    if stack.torch.make == "source":
        yield _own_build(stack.torch, target)
    elif not builds:
        yield _not_in_table(stack.torch, target)
    else:
        words = {build: serving(build.sass, build.ptx, target.capability)[0] for build in builds}
        good = [build for build, word in words.items() if word in ("exact", "compat")]
        rule, why = _verdict(set(words.values()), stack.torch)
        many = "it has" if len(good) == len(builds) == 1 else f"{len(good)} of {len(builds)} have"
        found = f"{torch_name(stack.torch)} is one of {several(builds)}; {many} machine code for it"
        yield finding(
            rule,
            found,
            needed=code_for(target),
            why=why,
            fix=_fix(rule, stack, target, [build.name for build in good]),
            where=stack.torch.where,
        )


def _verdict(words: set[Word], torch: Torch) -> tuple[str, str]:
    """The rule, and why, for the ways in which the possible builds reach the card."""
    if words <= {"exact", "compat"}:
        return "torch-code-inferred", "every build that it may be serves the card"
    if words == {"jit"}:
        return "torch-ptx-inferred", "every build that it may be reaches the card through text only"
    if words == {"none"} and torch.make != "vendor":
        return "torch-no-code-inferred", "no build that it may be has code for the card"
    if words <= {"none", "jit"}:
        return "torch-text-at-best", "no wheel that it may be has machine code; text is possible"
    return "torch-undecided", "some builds that it may be serve the card, others do not"


def _fix(rule: str, stack: Stack, target: Target, good: list[str]) -> list[str]:
    if rule == "torch-code-inferred":
        return []
    if rule == "torch-undecided":
        return [ASK_TORCH, *(f"lock {name}" for name in good[-1:] if stack.torch.make != "conda")]
    return remedies(stack, target) or [ASK_TORCH]


def _own_build(torch: Torch, target: Target) -> Finding:
    """Its builder chose the targets; only what its compiler cannot make is known."""
    beyond = _cannot_make(torch.cuda, target.capability)
    return finding(
        "torch-text-at-best" if beyond else "torch-build-unknown",
        f"{torch_name(torch)}, a build of somebody's own",
        needed=code_for(target),
        why=f"CUDA {torch.cuda} cannot make machine code for it; the build may carry text" if beyond else "",
        fix=ASK_TORCH,
        where=torch.where,
    )


def _not_in_table(torch: Torch, target: Target) -> Finding:
    version, first = parsed(torch.version), next(iter(known_releases()))
    if version is None:
        found = f"{torch_name(torch)}: neither its CUDA nor its targets are known"
        return finding("torch-build-unknown", found, fix=[ASK_TORCH, _GIVE_LIST], where=torch.where)
    if version < Version(first) and _cannot_make(_LAST_BEFORE_TABLE, target.capability):
        return finding(
            "torch-text-at-best",
            f"{torch_name(torch)} is older than the table; CUDA was {_LAST_BEFORE_TABLE} then",
            needed=code_for(target),
            fix=f"lock torch=={oldest_serving(target)}",
            where=torch.where,
        )
    return finding(
        "torch-not-in-table",
        f"{torch_name(torch)} is not in the table, which goes from {first} to {[*known_releases()][-1]}",
        needed="the list that the installed torch prints",
        fix=[ASK_TORCH, _GIVE_LIST],
        where=torch.where,
    )


def _cannot_make(cuda: str, capability: str) -> bool:
    """Whether a toolkit is known and has no machine code for a card."""
    compiler = toolkit(cuda)
    return compiler is not None and serving(compiler.sass, (), capability)[0] == "none"
