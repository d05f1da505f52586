"""A torch from the words that name it: a requirement, a conda line or a description, and where it comes from.

Words are read for what they say (version, CUDA, tag, who built it); what they leave open stays open.
"""

import re
from dataclasses import dataclass
from typing import Literal

from repro.check.known.table import torch_from_table
from repro.model.check import Make, Torch
from repro.tables.toolkits import tag_cuda

Kind = Literal["", "default", "pytorch", "nightly", "conda", "vendor", "other"]

_TAG = r"cu\d{2,3}|cpu|rocm[\d.]+|xpu"
_INDEX_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"conda", "conda"),
    (r"vendor|image|container|ngc|nvcr", "vendor"),
    (rf"(?:pytorch-|whl/)?nightly(?:[-/](?:{_TAG}))?", "nightly"),
    (rf"pytorch-(?:{_TAG})|.*whl/(?:{_TAG})", "pytorch"),
    (r"default|pypi(?:$|\W)", "default"),
)
_MAKES: tuple[tuple[str, Make], ...] = (
    (
        r"compiled|from source|source build|built (?:from|by|here|locally)|(?:local|own) build|a0\+git",
        "source",
    ),
    (r"container|vendor|\bimage\b|\bngc\b|nvcr|jetson|jetpack|\d\.\d+\.\d+a0\+[0-9a-f]{6}", "vendor"),
    (r"cudatoolkit|pytorch-cuda|\bconda\b|cpuonly|^pytorch\s*=[^=]", "conda"),
    (r"nightly|pre-?release|release candidate|\bpreview\b|\d\.?(?:dev|rc|a|b)\d+", "nightly"),
)
_KIND_MAKES: dict[Kind, Make] = {
    "default": "release", "pytorch": "release", "nightly": "nightly", "conda": "conda", "vendor": "vendor",
}  # fmt: skip
_CUDA = re.compile(
    r"(?:cudatoolkit|pytorch-cuda|cuda[-_ ]?(?:toolkit|version|build)?|(?<![a-z])cu)[-=:_ ]*v?"
    r"(?:(\d{1,2}(?:\.\d{1,2})?)(?!\d)|(\d{3})(?!\d))",
    re.IGNORECASE,
)
# `cuda92`, as packages of conda were named, is 9.2; `cuda 12` is the major.
_FIRST_JOINED = 75
_CPU = re.compile(
    r"cpu[- ]?only|\bcpu[- ](?:build|version|wheel|variant)|[=_(]cpu[_)]|\bcpu_(?:generic|mkl)|\bcpu\s*$",
    re.IGNORECASE,
)
# The project's own images. They hold its conda packages up to 2.5, its wheels later.
_OWN_IMAGE = re.compile(r"pytorch/pytorch:(\d+\.\d+(?:\.\d+)?)-cuda(\d+\.\d+)", re.IGNORECASE)
_LAST_CONDA = (2, 5)
_OWN_WHEEL = re.compile(r"\d\+(?:cu\d{2,3}|cpu)\b", re.IGNORECASE)
_VENDOR = re.compile(r"vendor|\bngc\b|nvcr|jetson|jetpack", re.IGNORECASE)
_IMAGE_TAG = re.compile(r"nvcr\.io/\S+", re.IGNORECASE)
_DOTTED_TAG = re.compile(r"(?<![a-z])cu(\d{1,2})\.(\d)(?!\d)", re.IGNORECASE)
_PYTHON = re.compile(r"\bpython\s*[=<>~!]*\s*\d+(?:\.\d+)*|\bpy3\.?\d+\b|\bcp3\d+\b", re.IGNORECASE)
_NAME = re.compile(r"^\s*(?:py)?torch\b(?:\[[^\]]*\])?", re.IGNORECASE)
_REST = r"(?:\.\d+){1,3}(?:\.?(?:dev|a|b|rc|post)\d*)?(?![\w*])"
_NAMED = re.compile(rf"torch(?:\[[^\]]*\])?[\s=:@(v-]{{0,5}}(\d{{1,2}}{_REST})", re.IGNORECASE)
_EXACT = re.compile(rf"(?<![\w.])(\d{_REST})", re.IGNORECASE)
_RANGE = re.compile(r"(?:>=|<=|~=|!=|<|>|==)\s*\d+(?:\.\w+)*(?:\.\*)?")
_LOCAL = re.compile(r"\+\s*([A-Za-z][\w]*|[0-9a-f]{6,})")


@dataclass(frozen=True)
class Index:
    """Where a torch comes from: what kind of place, and the tag that the place implies.

    Attributes:
        known_channel: False for a conda channel that builds on its own, such as conda-forge.
    """

    kind: Kind
    tag: str = ""
    known_channel: bool = True


def read_index(words: str) -> Index:
    """The place meant by `default`, `pytorch-cu118`, `conda:pytorch`, `.../whl/cu118`; else `other`."""
    text = words.strip().lower()
    if not text:
        return Index("")
    kind: Kind = next((kind for pattern, kind in _INDEX_KINDS if re.search(pattern, text)), "other")
    tag = re.search(rf"(?<![a-z0-9])(?:{_TAG})(?![a-z0-9])", text)
    own = kind == "conda" and not re.search(r"pytorch|nvidia|conda$", text)
    return Index(kind, tag[0] if tag else "", known_channel=not own)


def plain_index(spec: str) -> str:
    """`default` for a requirement that says neither tag nor CUDA nor maker; else empty: the words decide."""
    torch = torch_from_words(spec)
    return "default" if torch.make in ("", "release") and not torch.tag and not torch.cuda else ""


def torch_from_words(spec: str, index: str = "", where: str = "") -> Torch:
    """What `spec` and `index` say of a torch; its targets where the tables have that very build.

    Never fails: words that say nothing give a torch of which nothing is known.
    """
    image = _OWN_IMAGE.search(f"{spec} {index}")
    if image and not _OWN_WHEEL.search(spec):
        return torch_from_table(_of_image(spec.strip(), index, image, where))
    text = _DOTTED_TAG.sub(r"cu\1\2", spec.strip())
    place, words = read_index(index), _NAME.sub("", text)
    make = _make(text, place)
    version, accepts = _version(text)
    tag = _tag(words, place)
    cuda = tag_cuda(tag) or _cuda(words) or _cuda(index)
    said = Torch(
        asked=spec.strip(),
        index=_index_words(place, index),
        make=make,
        version=version,
        accepts=accepts,
        tag=tag or ("cpu" if _CPU.search(words) else _implied(make, cuda)),
        cuda=cuda,
        where=where,
    )
    return torch_from_table(said)


def _of_image(spec: str, index: str, image: re.Match[str], where: str) -> Torch:
    """The torch of an image of the project, `pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime`."""
    version, cuda = image.groups()
    by_conda = tuple(map(int, version.split(".")[:2])) <= _LAST_CONDA
    return Torch(
        asked=spec,
        index=index.strip(),
        make="conda" if by_conda else "release",
        version=version if version.count(".") == 2 else f"{version}.0",
        tag="" if by_conda else f"cu{cuda.replace('.', '')}",
        cuda=cuda,
        where=where,
    )


def _make(spec: str, place: Index) -> Make:
    said: Make = next((make for pattern, make in _MAKES if re.search(pattern, spec, re.IGNORECASE)), "")
    if said == "vendor" and _OWN_WHEEL.search(spec) and not _VENDOR.search(spec):
        said = "release"
    make = said or _KIND_MAKES.get(place.kind, "")
    return "vendor" if make == "conda" and place.kind == "conda" and not place.known_channel else make


def _version(words: str) -> tuple[str, str]:
    """(the one version, empty range), or (empty, the range that is allowed)."""
    plain = _PYTHON.sub(" ", _CUDA.sub(" ", _LOCAL.sub(" ", _IMAGE_TAG.sub(" ", words))))
    ranges = [part.replace(" ", "") for part in _RANGE.findall(plain)]
    if any(not part.startswith("==") or part.endswith("*") for part in ranges):
        return "", ",".join(ranges)
    found = _NAMED.search(plain) or _EXACT.search(plain)
    return (found[1].lower(), "") if found else ("", "")


def _tag(words: str, place: Index) -> str:
    local = _LOCAL.search(words)
    if local and re.match(_TAG, local[1].lower()):
        return re.split(r"[._-]", local[1].lower())[0]
    bare = re.search(r"(?<![a-z+])(cu\d{2,3})(?![\w.])", words.lower())
    return place.tag or (bare[1] if bare else "")


def _cuda(words: str) -> str:
    found = _CUDA.search(words)
    if found is None:
        return ""
    joined = found[2] or (found[1] if found[1].isdigit() and int(found[1]) >= _FIRST_JOINED else "")
    return tag_cuda(f"cu{joined}") if joined else found[1]


def _implied(make: Make, cuda: str) -> str:
    """The tag that a CUDA version has in the project's own wheels."""
    return f"cu{cuda.replace('.', '')}" if make in ("", "release", "nightly") and "." in cuda else ""


def _index_words(place: Index, index: str) -> str:
    return "default" if place.kind == "default" else index.strip()
