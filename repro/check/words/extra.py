"""Another package from the words about it: how it was built, with what, for which torch and targets."""

import re

from repro.model.check import Extra, Package

_WHEEL = re.compile(r"wheel|prebuilt|pre-built|binary|\.whl", re.IGNORECASE)
_SOURCE = re.compile(
    r"compil|from source|source build|setup\.py|CUDAExtension|no build isolation|sdist"
    r"|\bbuilt\b(?! (?:for|against)\b)|build folder|docker ?build|\bnvcc\b|\bjit\b|first use",
    re.IGNORECASE,
)
_NVCC = re.compile(r"(?:nvcc|toolkit|compiler)\s*(?:version\s*)?[=: ]?v?(\d{1,2}\.\d{1,2})", re.IGNORECASE)
_TORCH = re.compile(
    r"(?:py)?torch\s*(?:==|=|-)?\s*v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:dev|rc|post)\d+)?(?:\+\w+)?)", re.IGNORECASE
)
_TAG = re.compile(r"(?<![\w+])(cu\d{2,3}|cpu)(?![\w])", re.IGNORECASE)
_TARGET = re.compile(r"\b(sm|compute)_?(\d{2,3}[af]?)\b", re.IGNORECASE)
_LIST = re.compile(r"TORCH_CUDA_ARCH_LIST\s*=?\s*[\"']?((?:\d+\.\d[af]?(?:\+PTX)?[;, ]*)+)", re.IGNORECASE)
_DOTTED = re.compile(r"(\d+)\.(\d[af]?)(\+PTX)?", re.IGNORECASE)


def extra_from_words(package: Package, where: str = "") -> Extra:
    """The package with what its words say; every word is kept in `how`."""
    how = package.how
    wheel = _WHEEL.search(how) and not re.search(r"no (?:pre-?built )?wheel", how, re.IGNORECASE)
    nvcc = _NVCC.search(how)
    return Extra(
        name=package.name,
        version=package.version,
        how=how,
        built="wheel" if wheel else "source" if _SOURCE.search(how) else "",
        nvcc=nvcc[1] if nvcc else "",
        for_torch=_for_torch(how, bool(wheel)),
        archs=_targets(how) or None,
        where=where,
    )


def _for_torch(how: str, wheel: bool) -> str:
    """`1.9.1+cu111` of `wheel for torch 1.9.1+cu111` or `cu111 torch1.9.1`; `+cu121` of a wheel for that."""
    found, tag = _TORCH.search(how), _TAG.search(how)
    if found is None:
        return f"+{tag[1].lower()}" if wheel and tag else ""
    return found[1] if "+" in found[1] or not tag else f"{found[1]}+{tag[1].lower()}"


def _targets(how: str) -> list[str]:
    named = [f"{kind.lower()}_{number.lower()}" for kind, number in _TARGET.findall(how)]
    listed = _LIST.search(how)
    for major, minor, ptx in _DOTTED.findall(listed[1]) if listed else ():
        named += [f"sm_{major}{minor}", *([f"compute_{major}{minor}"] if ptx else [])]
    return list(dict.fromkeys(named))
