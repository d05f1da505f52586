"""Another package from the words about it: how it was built, with what, for which torch and targets."""

import re
from typing import Literal

from repro.check.words.compiler import compiler_in, host_compiler_in
from repro.model.check import Extra, Package

Built = Literal["", "source", "wheel"]

_WHEEL = re.compile(r"wheel|prebuilt|pre-built|binary|\.whl", re.IGNORECASE)
_SOURCE = re.compile(
    r"compil|from source|source build|setup\.py|CUDAExtension|no build isolation|sdist|-gencode"
    r"|\bc?make(?:\.sh)?\b(?! sure)|\bbuilt\b(?! (?:for|against)\b)|build folder|docker ?build|\bnvcc\b"
    r"|\bjit\b|first use",
    re.IGNORECASE,
)
_TORCH = re.compile(
    r"(?:py)?torch\s*(?:==|=|-)?\s*v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:dev|rc|post)\d+)?(?:\+\w+)?)", re.IGNORECASE
)
# Names of files: `pyt1110` and `torch240` are 1.11.0 and 2.4.0.
_JOINED = re.compile(r"(?:torch|(?<![a-z])pyt|(?<![a-z])pt)(\d)(\d{1,2})(\d)(?!\d|\.\d)", re.IGNORECASE)
_TAG = re.compile(
    r"(?<![a-z])(?<!\d\+)(cu\d{2,3}|cpu)(?=torch|pyt|pt|cxx|[^a-z0-9]|$)|\+(cu\d{2,3})(?=torch)",
    re.IGNORECASE,
)
# The runtime library that a file asks for. From CUDA 11 on its name is the same for a whole major.
_RUNTIME = re.compile(r"libcudart\.so\.(\d{1,2})(?:\.(\d))?")
_SONAME_OF_MAJOR = 11
_TARGET = re.compile(r"\b(sm|compute)_?(\d{2,3}[af]?)\b", re.IGNORECASE)
# Variables that name targets: TORCH_CUDA_ARCH_LIST, CMAKE_CUDA_ARCHITECTURES, NVTE_CUDA_ARCHS and others.
_LIST = re.compile(
    r"\w*(?:CUDA_ARCH|ARCH_LIST)\w*\s*=?\s*[\"']?"
    r"((?:(?:\d+\.\d|\d{2,3})[af]?(?:\+PTX|-real|-virtual)?(?![\w.])[;, ]*)+)",
    re.IGNORECASE,
)
_ONE = re.compile(r"(\d+)\.?(\d[af]?)(\+PTX|-virtual)?", re.IGNORECASE)


def extra_from_words(package: Package, where: str = "") -> Extra:
    """The package with what its words say; every word is kept in `how`."""
    how = package.how
    wheel = _WHEEL.search(how) and not re.search(r"no (?:pre-?built )?wheel", how, re.IGNORECASE)
    built: Built = "wheel" if wheel else "source" if _SOURCE.search(how) else ""
    return Extra(
        name=package.name,
        version=package.version,
        how=how,
        built=built,
        nvcc=compiler_in(how, compiled=built == "source"),
        gcc=host_compiler_in(how),
        for_torch=_for_torch(how, bool(wheel)),
        archs=_targets(how) or None,
        where=where,
    )


def _for_torch(how: str, wheel: bool) -> str:
    """`1.9.1+cu111` of `wheel for torch 1.9.1+cu111` or `cu111 torch1.9.1`; `+cu121` of a wheel for that."""
    found, joined, tagged = _TORCH.search(how), _JOINED.search(how), _TAG.search(how)
    asked = _runtime(how)
    tag = (tagged[1] or tagged[2]).lower() if tagged else asked
    version = found[1] if found else ".".join(joined.groups()) if joined else ""
    if not version:
        return f"+{tag}" if tag and (wheel or asked) else ""
    return version if "+" in version or not tag else f"{version}+{tag}"


def _runtime(how: str) -> str:
    """`cu11` of `needs libcudart.so.11.0`, `cu101` of `libcudart.so.10.1`; empty for none."""
    found = _RUNTIME.search(how)
    if found is None:
        return ""
    return f"cu{found[1]}" if int(found[1]) >= _SONAME_OF_MAJOR else f"cu{found[1]}{found[2] or 0}"


def _targets(how: str) -> list[str]:
    named = [f"{kind.lower()}_{number.lower()}" for kind, number in _TARGET.findall(how)]
    listed = _LIST.search(how)
    for major, minor, ptx in _ONE.findall(listed[1]) if listed else ():
        named += [f"sm_{major}{minor}"] if ptx != "-virtual" else []
        named += [f"compute_{major}{minor}"] if ptx else []
    return list(dict.fromkeys(named))
