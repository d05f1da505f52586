"""Packages without a file at hand that bring one file for each CUDA version: which one torch gets."""

from collections.abc import Iterator

from packaging.version import Version

from repro.check.code.serving import in_words, serving
from repro.check.finding import finding
from repro.check.known.builds import parsed
from repro.check.known.variants import Variant, release_with_variant, variants, variants_are_all
from repro.check.rules.extras import mentioned, name_of, place_of
from repro.model.check import Extra, Finding, Stack, Target


def file_for_torch(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on packages without a file for torch's CUDA, or whose file has no code for the card."""
    cuda = parsed(stack.torch.cuda)
    read = stack.system == "linux" and stack.machine == "x86_64" and "." in stack.torch.cuda
    for extra, _row in mentioned(stack) if read else ():
        rows = variants(extra.name, extra.version) if extra.built != "source" and not extra.archs else []
        taken = _taken(rows, cuda) if cuda else None
        if rows and taken is None and variants_are_all(extra.name, extra.version):
            yield _missing(extra, rows, stack)
        elif taken and target.capability:
            yield from _judge(extra, taken, stack, target)


def _taken(rows: list[Variant], cuda: Version) -> Variant | None:
    """The row whose file is loaded beside a torch for `cuda`."""
    made = {Version(name): row for row in rows for name in row.cudas}
    if cuda in made:
        return made[cuda]
    near = sorted(version for version, row in made.items() if row.nearest and version.major == cuda.major)
    below = [version for version in near if version < cuda]
    return made[(below or near[:1])[-1]] if near else None


def _missing(extra: Extra, rows: list[Variant], stack: Stack) -> Finding:
    names = sorted({name for row in rows for name in row.cudas}, key=Version)
    return finding(
        "extra-no-variant",
        f"{name_of(extra)} has files for CUDA {', '.join(names)}; torch is for CUDA {stack.torch.cuda}",
        needed=f"a file for CUDA {stack.torch.cuda}",
        fix=[*_release(extra, stack), f"or a torch built for CUDA {names[-1]}"],
        source=rows[0].source,
        where=place_of(extra),
    )


def _release(extra: Extra, stack: Stack) -> list[str]:
    """The first release with a file for torch's CUDA, as an edit."""
    since = release_with_variant(extra.name, stack.torch.cuda)
    return [f"{extra.name}=={since} or newer"] if since else []


def _judge(extra: Extra, row: Variant, stack: Stack, target: Target) -> Iterator[Finding]:
    sass = [name for name in row.archs if name.startswith("sm_")]
    ptx = [name for name in row.archs if name.startswith("compute_")]
    word, by = serving(sass, ptx, target.capability)
    found = f"{name_of(extra)} for CUDA {stack.torch.cuda} has code for {in_words(row.archs)}"
    sm = f"code for sm_{target.capability.replace('.', '')}"
    if word == "none":
        fix = f"another release of {extra.name}, or a torch for a CUDA whose file of it has {sm}"
        yield finding("extra-no-code", found, needed=sm, fix=fix, source=row.source, where=place_of(extra))
    elif word == "jit":
        yield finding("extra-jit", f"{found}; {by} is text", source=row.source, where=place_of(extra))
