"""Packages beside torch that nobody has read a file of: which they are, and what their words add."""

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from repro.check.known.policy import Known, known, surely_before
from repro.model.check import Extra, Stack, Torch

# Made by torch's own project for each release: other rules hold them against torch.
_PARTNERS = frozenset({"torch", "torchvision", "torchaudio", "torchtext", "triton", "pytorch-triton"})

_FORCED = re.compile(r"compil|from source|\bnvcc\b|setup\.py|force.?build|no.?binary", re.IGNORECASE)
_HERE = re.compile(
    r"\b(?:built|compiled|made|rebuilt) "
    r"(?:against|for|in(?:side)?|with) (?:it|this|that very|the (?:same|very|container|image|vendor))\b"
    r"|\b(?:ships?|shipped|comes?|came|included|pre-?installed|part) (?:with|in|of) (?:it|the|this|that)\b"
    r"|\bpre-?installed\b",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"\bpip\b(?!.*(?:\s-f\b|find-links))|from the (?:default )?index|pypi", re.IGNORECASE)
_CUDA = re.compile(r"\bcuda\b|\bcu\d{2,3}\b", re.IGNORECASE)
_THIRD = re.compile(
    r"third[- ]party|unofficial|community|somebody|someone|another user|personal|self[- ]hosted",
    re.IGNORECASE,
)


def mentioned(stack: Stack) -> Iterator[tuple[Extra, Known | None]]:
    """Packages to judge by what is said of them: described ones, and locked ones that the table knows.

    A package whose files were read is left out: the files say more.
    """
    read = {canonicalize_name(facts.owner) for facts in stack.binaries if facts.owner}
    described = {canonicalize_name(extra.name): extra for extra in stack.extras}
    locked = {
        name: Extra(name=name, version=version, where=f"{name}=={version}")
        for name, version in stack.packages.items()
        if name not in described and known(name)
    }
    for name, extra in (described | locked).items():
        if name not in read and name not in _PARTNERS:
            yield extra, _native(extra)


def is_locked(stack: Stack, extra: Extra) -> bool:
    """Whether the package comes from the lock alone: the lock says how it is installed."""
    return all(extra is not said for said in stack.extras)


def is_prebuilt(extra: Extra, row: Known | None) -> bool:
    """Whether the installed file was built by others: a wheel, or one that the package's setup fetches."""
    if extra.built == "wheel" or (extra.for_torch and extra.built != "source"):
        return True
    return bool(row and row.fetches and not _FORCED.search(extra.how))


def is_linked(extra: Extra, row: Known | None) -> bool:
    """Whether its code is linked against torch, as far as anybody can tell."""
    return bool((row and row.with_torch) or extra.for_torch or "torch" in f"{extra.name} {extra.how}".lower())


def made_here(extra: Extra) -> bool:
    """Whether the words say that it was made for the very torch at hand, `built in the container`."""
    return bool(_HERE.search(extra.how))


def is_plain(extra: Extra) -> bool:
    """Whether it is installed from the index as it comes: nothing is said of a file or a build."""
    said = extra.built or extra.for_torch or extra.nvcc or extra.archs
    return not said and (not extra.how or bool(_PLAIN.search(extra.how)))


def says_cuda(extra: Extra) -> bool:
    """Whether the words say that it was built for CUDA."""
    return bool(_CUDA.search(f"{extra.how} {extra.for_torch}"))


def by_others(extra: Extra) -> bool:
    """Whether the file comes from neither the project nor the index."""
    return bool(_THIRD.search(extra.how))


def minor(version: str) -> str:
    """`2.1` of `2.1.0+cu121`; empty for none."""
    found = re.match(r"(\d+\.\d+)", version)
    return found[1] if found else ""


def torch_name(torch: Torch) -> str:
    """The torch for people: `torch 2.1.0+cu121`, or the words that name it."""
    if not torch.version or torch.make not in ("", "release"):
        return torch.asked or "torch"
    return f"torch {torch.version}{f'+{torch.tag}' if torch.tag else ''}"


def name_of(extra: Extra) -> str:
    """`flash-attn 2.5.8`, or the name alone."""
    return f"{extra.name} {extra.version}".strip()


def place_of(extra: Extra) -> str:
    """Where the package was named, for the `where` of a finding."""
    return extra.where or name_of(extra)


def _native(extra: Extra) -> Known | None:
    row = known(extra.name)
    if row and row.native_since and surely_before(extra.version, row.native_since):
        return None
    return row
