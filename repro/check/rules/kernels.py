"""Rules about torch's own kernels: is there code for the card, and how does it get there."""

from collections.abc import Iterator

from repro.check.code.containers import Word
from repro.check.code.serving import in_words, serving
from repro.check.finding import finding
from repro.check.known.builds import build_with, conda_package_is_missing, known_release
from repro.check.known.called import code_for, torch_name
from repro.check.known.official import is_covered, is_cpu_only, is_wheel
from repro.check.known.remedy import remedies
from repro.check.rules.inferred import inferred
from repro.check.rules.named import ASK_TORCH
from repro.model.check import Finding, Stack, Target, Torch
from repro.tables.toolkits import toolkit

# Rule, and why, for each way in which a list of targets reaches a card.
_WAYS: dict[Word, tuple[str, str]] = {
    "exact": ("torch-code-exact", "{by} is machine code for this very chip"),
    "compat": ("torch-code-compatible", "{by} runs on {capability}: same major number, higher minor"),
    "jit": ("torch-code-from-ptx", "only {by}, which the driver translates at the first start: minutes"),
    "jitlink": ("torch-code-from-ptx", "only code that the driver links at the first start"),
    "none": (
        "torch-no-code",
        "every kernel ends in `no kernel image is available`, although torch.cuda.is_available() says True",
    ),
}


def torch_kernels(stack: Stack, target: Target) -> Iterator[Finding]:
    """How torch's kernels reach the card: by a known list of targets, else by all builds that it may be."""
    torch = stack.torch
    if not target.capability or is_cpu_only(stack):
        return
    if torch.sass is not None and (torch.basis != "table" or is_covered(stack)):
        yield _known(stack, target)
    elif torch.sass is None and is_covered(stack) and _may_exist(torch):
        yield from inferred(stack, target)


def torch_list_differs(stack: Stack, _target: Target) -> Iterator[Finding]:
    """The list that the installed torch printed is not that of the build it is said to be."""
    torch = stack.torch
    release = known_release(torch.version) if torch.version and is_wheel(torch) else None
    build = build_with(release, torch.tag) if release else None
    if build is None or torch.basis not in ("arch-list", "live") or not is_covered(stack):
        return
    printed, known = {*(torch.sass or ()), *(torch.ptx or ())}, {*build.sass, *build.ptx}
    if printed != known:
        yield finding(
            "torch-list-differs",
            f"printed {in_words(printed)}",
            needed=f"{in_words(known)} in torch=={torch.version}+{torch.tag}",
            fix=ASK_TORCH,
            source=f"table of torch releases ({build.arch_source})",
            where=torch.where,
        )


def libraries_before_card(stack: Stack, target: Target) -> Iterator[Finding]:
    """Text reaches the card, but the toolkit, and so its mathematics libraries, are older than the chip."""
    torch, made_with = stack.torch, toolkit(stack.torch.cuda)
    if torch.sass is None or not target.capability or made_with is None:
        return
    word, _ = serving(torch.sass, torch.ptx or (), target.capability)
    native, _ = serving(made_with.sass, (), target.capability)
    if word == "jit" and native == "none":
        yield finding(
            "torch-libraries-before-card",
            f"cuBLAS and cuDNN of CUDA {torch.cuda}, whose newest chip is {made_with.sass_last}",
            needed=f"libraries with {code_for(target)}",
            fix=remedies(stack, target),
            where=torch.where,
        )


def _known(stack: Stack, target: Target) -> Finding:
    torch = stack.torch
    word, by = serving(torch.sass or (), torch.ptx or (), target.capability)
    rule, why = _WAYS[word]
    return finding(
        rule,
        f"{torch_name(torch)}{_default(torch)}: {in_words([*(torch.sass or ()), *(torch.ptx or ())])}",
        needed=code_for(target),
        why=why.format(by=by, capability=target.capability),
        fix=remedies(stack, target) if word in ("none", "jit") else (),
        source=torch.source,
        where=torch.where,
    )


def _may_exist(torch: Torch) -> bool:
    """False for a tag or a conda package that its release was not built with: another rule says so."""
    if conda_package_is_missing(torch):
        return False
    release = known_release(torch.version) if torch.version and is_wheel(torch) else None
    return release is None or not torch.tag or build_with(release, torch.tag) is not None


def _default(torch: Torch) -> str:
    """Says when it is the wheel that a plain requirement gives."""
    release = known_release(torch.version) if torch.basis == "table" and is_wheel(torch) else None
    return ", the default wheel" if release and torch.tag == release.pypi_tag else ""
