"""Rules about packages that are made for one torch: torchvision and torchaudio."""

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from repro.check.finding import finding
from repro.check.known.builds import known_release, known_releases, parsed
from repro.check.known.called import torch_name
from repro.check.rules.extras import made_here
from repro.model.check import Finding, Stack, Target
from repro.tables.toolkits import tag_cuda
from repro.tables.torchbuilds import Release

_FROM_INDEX = re.compile(r"\bpip\b|wheel|pypi|index", re.IGNORECASE)
PARTNERS = ("torchvision", "torchaudio")


def partners(stack: Stack, _target: Target) -> Iterator[Finding]:
    """The versions of torchvision and torchaudio that belong to the torch."""
    release = known_release(stack.torch.version) if stack.torch.version else None
    for name in PARTNERS:
        version, where = version_of(stack, name)
        if release and version:
            yield from _pair(stack, release, name, version, where)


def partners_from_elsewhere(stack: Stack, _target: Target) -> Iterator[Finding]:
    """A torchvision or torchaudio of the index beside a torch that somebody else built."""
    torch = stack.torch
    code = {"vendor": "extra-on-vendor-torch", "source": "extra-on-private-torch"}.get(torch.make)
    for extra in stack.extras if code else ():
        if canonicalize_name(extra.name) in PARTNERS and code and _FROM_INDEX.search(extra.how):
            if made_here(extra):
                continue
            yield finding(
                code,
                f"{extra.name} {extra.version} is a file of the index; torch is {torch.asked}",
                needed=f"{extra.name} of the same maker",
                fix=f"keep the {extra.name} that came with this torch, or compile it against it",
                where=extra.where,
            )


def version_of(stack: Stack, name: str) -> tuple[str, str]:
    """Version of a package among the locked or installed ones, else as described, and where that stands."""
    if name in stack.packages:
        return stack.packages[name], ""
    found = next((e for e in stack.extras if canonicalize_name(e.name) == name and parsed(e.version)), None)
    return (found.version, found.where) if found else ("", "")


def _pair(stack: Stack, release: Release, name: str, text: str, where: str) -> Iterator[Finding]:
    bare, _, local = text.partition("+")
    theirs, ours = tag_cuda(local).partition(".")[0], stack.torch.cuda.partition(".")[0]
    without = local == "cpu" and name == "torchvision"
    if (theirs or without) and ours and theirs != ours:
        yield finding(
            "partner-cuda-differs",
            f"{name} {text} with {torch_name(stack.torch)}",
            needed=f"{name} for CUDA {stack.torch.cuda}",
            fix=f"lock {name}=={bare}+{stack.torch.tag}",
            where=where,
        )
    wanted = getattr(release, name)
    strict = getattr(release, f"{name}_source") == "wheel"
    if not strict or not wanted or parsed(bare) == parsed(wanted):
        return
    minor = _minor(bare) == _minor(wanted)
    meant = [
        row.version for row in known_releases().values() if parsed(getattr(row, name) or "0") == parsed(bare)
    ]
    yield finding(
        "partner-patch-differs" if minor else "partner-differs",
        f"{name} {text} with {torch_name(stack.torch)}",
        needed=f"{name}=={wanted}" + (f"; {bare} belongs to torch {meant[0]}" if meant else ""),
        fix=f"lock {name}=={wanted}",
        source=f"table of torch releases: metadata of {name} {wanted}",
        where=where,
    )


def _minor(text: str) -> tuple[int, ...]:
    version = parsed(text)
    return version.release[:2] if version else ()
