"""GPU code of compiled files held against one card, container by container. Pure.

A file is not the union of its architectures: each container (one compiled source file) needs code of its
own for the card. Rules: NVIDIA's compatibility guides for Ampere and Ada, nvcc manual on JIT linking.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Literal

from repro.model.binary import BinaryFacts, ContainerGroup, GpuCode
from repro.model.check import FileFit, Target
from repro.tables.drivers import reaches
from repro.tables.toolkits import cubin_excluded, driver_of_cuda, renamed, toolkit_of_isa

Word = Literal["exact", "compat", "jit", "jitlink", "none"]

# Best first. `jitlink` is the driver's last resort, it needs all objects of the file.
WORDS: tuple[Word, ...] = ("exact", "compat", "jit", "jitlink", "none")

# Chips of the embedded boards: their machine code serves no other chip.
_EMBEDDED = frozenset({53, 62, 72, 87, 110})

# Libraries of NVIDIA: a container for each kernel family and chip, so one usable image is enough.
_VENDOR_FILES = (
    "libcublas*", "libcudnn*", "libcufft*", "libcurand*", "libcusolver*", "libcusparse*", "libnccl*",
    "libnvjpeg*", "libnpp*", "libnvshmem*", "libcupti*", "libnvblas*",
)  # fmt: skip
# Where torch's kernels are: from 1.5 on, from 1.2 to 1.4, and before (read in the wheels).
_TORCH_KERNELS = ("libtorch_cuda*.so", "libtorch.so", "libcaffe2_gpu.so")


def chip(capability: str) -> int:
    """`8.0` as 80, `12.1` as 121, in today's numbering; 0 for an unknown card."""
    return _renamed(int(capability.replace(".", "") or 0))


def fit(code: GpuCode, capability: str) -> Word:
    """How one image serves a card of `capability`, the driver's knowledge of PTX left aside."""
    number, suffix = _split(code.arch)
    card = chip(capability)
    if not number or not card:
        return "none"
    if code.kind == "ptx":
        return "jit" if _reaches(number, suffix, card) or (not suffix and number <= card) else "none"
    if code.kind != "sass" or not _reaches(number, suffix, card):
        return "none"
    if number == card:
        return "exact"
    return "none" if _refused(number, suffix, card, capability) else "compat"


def fit_group(group: ContainerGroup, capability: str, relocatable: Sequence[ContainerGroup] = ()) -> Word:
    """How one container of `group` serves the card; `relocatable` is what the driver may link anew.

    Linking at load needs every relocatable object to have usable code, and a container that is the
    product of the device linker (its registration has version 2).
    """
    words = {fit(code, capability) for code in group.images}
    best: Word = next((word for word in WORDS if word in words), "none")
    linked = best == "none" and group.wrapper == 2 and relocatable
    if linked and all(fit_group(part, capability) != "none" for part in relocatable if part.images):
        return "jitlink"
    return best


def judged(facts: BinaryFacts) -> list[ContainerGroup]:
    """Containers that the driver can be asked for; what a vendor's library loads by itself is left out."""
    return [group for group in facts.groups if group.judged and group.section == "exec"]


def file_fit(facts: BinaryFacts, target: Target) -> FileFit:
    """Number of judged containers by word; no containers mean no GPU code of its own, not `none`."""
    relocatable = [group for group in facts.groups if group.section == "reloc"]
    counted: Counter[str] = Counter()
    for group in judged(facts):
        counted[fit_group(group, target.capability, relocatable)] += group.count
    return FileFit(
        path=facts.path,
        owner=facts.owner,
        containers={word: counted[word] for word in WORDS if counted[word]},
        vendor=is_vendor(facts),
    )


def fits(binaries: Iterable[BinaryFacts], target: Target) -> list[FileFit]:
    """Fit of every file that has containers to judge, torch's own first."""
    listed = list(binaries)
    others = [file_fit(facts, target) for facts in listed if not is_torch(facts)]
    return [*torch_fits(listed, target), *sorted((f for f in others if f.containers), key=lambda f: f.path)]


def usable(found: FileFit) -> int:
    """Number of containers that serve the card in any way."""
    return total(found) - found.containers.get("none", 0)


def total(found: FileFit) -> int:
    """Number of judged containers."""
    return sum(found.containers.values())


def in_words(found: FileFit) -> str:
    """The counts for people: `287 exact, 15 none of 302 containers`."""
    parts = ", ".join(f"{count} {word}" for word, count in found.containers.items())
    return f"{parts} of {total(found)} containers"


def is_vendor(facts: BinaryFacts) -> bool:
    """Whether the file is one of NVIDIA's libraries, wherever it is bundled."""
    name = PurePosixPath(facts.path).name
    return facts.owner.startswith("nvidia-") or any(fnmatch(name, wanted) for wanted in _VENDOR_FILES)


def is_torch(facts: BinaryFacts) -> bool:
    """Whether the file holds kernels of torch itself."""
    path = PurePosixPath(facts.path)
    place = path.parent.parent.name == "torch" and path.parent.name == "lib"
    return place and any(fnmatch(path.name, wanted) for wanted in _TORCH_KERNELS)


def torch_fits(binaries: Iterable[BinaryFacts], target: Target) -> list[FileFit]:
    """Fit of the files with torch's own kernels, the one with most containers first."""
    found = [file_fit(facts, target) for facts in binaries if is_torch(facts)]
    return sorted((fit for fit in found if fit.containers), key=lambda fit: (-total(fit), fit.path))


def code_of_torch(binaries: Iterable[BinaryFacts]) -> tuple[list[str], list[str]] | None:
    """Targets of torch's own kernels, `sm_80` and `compute_86`; None when none of its files was read.

    A target counts when at least half as many containers have it as have the commonest one: linked-in parts
    of other libraries bring targets that torch's kernels lack (6.1 and 7.5 in the 1.12.1 wheel).
    """
    groups = [group for facts in binaries if is_torch(facts) for group in judged(facts)]
    if not groups:
        return None
    return _common(groups, "sass", "sm_"), _common(groups, "ptx", "compute_")


def isa_needed(facts: BinaryFacts, capability: str) -> str:
    """Newest PTX language, `8.7`, among the containers that only PTX brings to the card; empty if none do.

    Of several usable texts in a container the driver takes the one for the newest chip.
    """
    relocatable = [group for group in facts.groups if group.section == "reloc"]
    needed = [""]
    for group in judged(facts):
        word = fit_group(group, capability, relocatable)
        if word in ("jit", "jitlink"):
            needed += [_isa(part, capability) for part in ([group] if word == "jit" else relocatable)]
    return max(needed, key=_numbers)


def compiles(isa: str, target: Target) -> bool | None:
    """Whether the driver named for the target knows a PTX language; None when that cannot be told."""
    toolkit = toolkit_of_isa(isa)
    if toolkit is None:
        return None
    if target.driver_cuda:
        return _numbers(target.driver_cuda) >= _numbers(toolkit.version)
    return reaches(target.driver, driver_of_cuda(toolkit.version)) if target.driver else None


def driver_for(isa: str) -> str:
    """The driver that a PTX language needs: `driver >= 575.51.03 (CUDA 12.9)`; empty if unknown."""
    toolkit = toolkit_of_isa(isa)
    driver = driver_of_cuda(toolkit.version) if toolkit else ""
    return f"driver >= {driver} (CUDA {toolkit.version})" if toolkit and driver else ""


def targets(facts: BinaryFacts) -> list[str]:
    """What the judged containers hold, for people: `sm_80`, `sm_90a`, `compute_86`."""
    names = {
        (int(code.arch.rstrip("af") or 0), f"{'sm' if code.kind == 'sass' else 'compute'}_{code.arch}")
        for group in judged(facts)
        for code in group.images
        if code.kind in ("sass", "ptx")
    }
    return [name for _, name in sorted(names)]


def _common(groups: Iterable[ContainerGroup], kind: str, prefix: str) -> list[str]:
    having: Counter[str] = Counter()
    for group in groups:
        for arch in {code.arch for code in group.images if code.kind == kind}:
            having[arch] += group.count
    most = max(having.values(), default=0)
    common = [arch for arch, count in having.items() if 2 * count >= most]
    return [prefix + arch for arch in sorted(common, key=lambda arch: _split(arch))]


def _isa(group: ContainerGroup, capability: str) -> str:
    """Language of the text that the driver would compile, when machine code of the container does not fit."""
    texts = [code for code in group.images if fit(code, capability) == "jit"]
    native = any(fit(code, capability) in ("exact", "compat") for code in group.images)
    return "" if native or not texts else max(texts, key=lambda code: _split(code.arch)).isa


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def _split(arch: str) -> tuple[int, str]:
    digits = arch.rstrip("af")
    return _renamed(int(digits) if digits.isdigit() else 0), arch[len(digits) :]


def _renamed(number: int) -> int:
    """CUDA 13 names some targets anew: 101 is its 110."""
    return int(renamed(f"sm_{number}").removeprefix("sm_"))


def _reaches(number: int, suffix: str, card: int) -> bool:
    """Same major, same or lower minor; with `a` the very chip."""
    if suffix == "a":
        return number == card
    return number // 10 == card // 10 and number <= card


def _refused(number: int, suffix: str, card: int, capability: str) -> bool:
    embedded = number in _EMBEDDED or card in _EMBEDDED
    return embedded or cubin_excluded(f"sm_{number}{suffix}", capability)
