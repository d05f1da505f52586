"""A stack, a target, and the findings about the two together."""

from typing import Any, Literal

from repro.model.binary import BinaryFacts
from repro.model.record import Record
from repro.model.snapshot import Warned

Severity = Literal["error", "warning", "note", "unknown"]
Fit = Literal["runs", "runs-after-jit", "risky", "will-fail", "unknown"]
Basis = Literal["table", "arch-list", "files", "live", "inferred", "unknown"]
Make = Literal["", "release", "nightly", "conda", "vendor", "source"]


class Torch(Record, kw_only=True):
    """The torch of a stack, as far as it is known.

    Attributes:
        version: `1.13.1` without local tag, empty when unknown; `tag`: `cu117`, `cpu`, empty when unknown.
        cuda: version that the build was made with, `11.7`; empty for none or unknown.
        sass, ptx: targets of its own kernels, `sm_80`, `compute_86`; None when unknown.
        basis: what `sass` and `ptx` rest on; `source`: where that was read.
        where: the line or option that names this torch.
        asked: the words that name it; `accepts`: versions that they allow when they name none, `>=2.0,<2.2`.
        index: where it is installed from, `default`, `pytorch-cu118`, `conda:pytorch`; empty when not said.
        make: wheel of the project (`release`, `nightly`), or somebody else's build; empty when not said.
    """

    asked: str = ""
    accepts: str = ""
    index: str = ""
    make: Make = ""
    version: str = ""
    tag: str = ""
    cuda: str = ""
    sass: list[str] | None = None
    ptx: list[str] | None = None
    basis: Basis = "unknown"
    source: str = ""
    where: str = ""


class Extra(Record, kw_only=True):
    """Another package that matters, as somebody described it.

    Attributes:
        how: the words given, `compiled in docker build, nvcc 11.3`; what follows was read from them.
        built: from `source` or taken as a `wheel`; empty when not said.
        nvcc: toolkit it was compiled with; `gcc`: host compiler beside it, `11` or `9.4`.
        for_torch: torch it was made for, `1.9.1+cu111`.
        archs: targets that its code is said to have, `sm_80`, `compute_86`; None when not said.
    """

    name: str
    version: str = ""
    how: str = ""
    built: Literal["", "source", "wheel"] = ""
    nvcc: str = ""
    gcc: str = ""
    for_torch: str = ""
    archs: list[str] | None = None
    where: str = ""


class SourceFact(Record, kw_only=True):
    """GPU code in source form, or something that compiles it.

    Attributes:
        kind: `cuda-extension` (setup.py with CUDAExtension), `cpp-extension` (the same without CUDA),
            `jit-extension` (cpp_extension.load), `build-needs-torch` (a build that imports torch),
            `cuda-source` (.cu file), `triton`, `cupy`, `numba-cuda`, `pycuda`, `torch-compile`,
            `hard-coded-arch` (-gencode or arch flags in a build file), `sdist` (locked file that compiles),
            `build-folder` (compiled leftovers in the code).
        where: `file:line`, a folder or file for leftovers; text: what was seen.
        name: package or extension, where one is named; of `hard-coded-arch`, `nvcc` or the variable.
        archs: targets written there, `sm_70`, `compute_80`.
    """

    kind: str
    where: str
    text: str
    name: str = ""
    archs: list[str] = []


class Doubt(Warned, kw_only=True):
    """What the lock said of a line; `remedy` is an edit or a command, empty when none is known."""

    severity: Severity = "warning"
    remedy: str = ""


class Stack(Record, kw_only=True):
    """Everything known of the software, from words, a lock, wheels, a project or an image.

    Attributes:
        origin: what was looked at: `words`, `project`, `lock`, `bundle`, `image`, `wheel`.
        python: CPython minor, `3.10`; system and machine as Python names them; glibc of the place it runs in.
        detail: free words about the surroundings (library path, base image).
        packages: every locked or installed package by normalised name.
        system_packages: Debian packages that are added to the base image.
        libraries: file names of shared objects that the base image or the packages provide;
            None when the base image was not looked into.
        precision: as in `repro.toml`; memory_bytes: largest need in bytes, None when not said.
        reference: version of torch to compare numerics with, empty for none.
        cuda_error: what cuInit answered on the machine, 0 for unknown or fine.
        doubts: what the lock said of the dependency files.
    """

    origin: str
    python: str = ""
    system: str = "linux"
    machine: str = "x86_64"
    glibc: str = ""
    detail: str = ""
    torch: Torch = Torch()
    packages: dict[str, str] = {}
    system_packages: list[str] = []
    extras: list[Extra] = []
    sources: list[SourceFact] = []
    binaries: list[BinaryFacts] = []
    libraries: list[str] | None = None
    precision: str = ""
    memory_bytes: int | None = None
    reference: str = ""
    cuda_error: int = 0
    doubts: list[Doubt] = []


class Package(Record, kw_only=True):
    """A package as a question names it; `how`: how it was built or which file was taken, in free words."""

    name: str
    version: str = ""
    how: str = ""


class Question(Record, kw_only=True):
    """What somebody wants to know without a project: options of a command, or an object of a question file.

    Attributes:
        torch: a requirement or words, `torch==1.13.1+cu117`, `pytorch=1.8.1 cudatoolkit=11.1`.
        index: where it comes from, `default`, `pytorch-cu118`, `conda:pytorch`; empty when unknown.
        python, system, machine, glibc, detail, precision: as in `Stack`.
        extras: other packages that matter.
        arch_list: what `torch.cuda.get_arch_list()` printed, None when not said.
        gpu, capability, driver, driver_cuda: as in `Target`; `gpu` is a name as anybody writes it.
        cuda_error: what cuInit answered on the machine, 0 for unknown or fine.
    """

    torch: str = ""
    index: str = ""
    python: str = ""
    system: str = "linux"
    machine: str = "x86_64"
    glibc: str = ""
    detail: str = ""
    extras: list[Package] = []
    arch_list: list[str] | None = None
    precision: str = ""
    cuda_error: int = 0
    gpu: str = ""
    capability: str = ""
    driver: str = ""
    driver_cuda: str = ""


class Target(Record, kw_only=True):
    """A card and a driver to judge against.

    Attributes:
        asked: as the user wrote it; gpu: key in the table of cards, empty when it is not there.
        name: product name for people; capability: `8.0`, empty when unknown (or no card is meant).
        memory_bytes: as NVML prints it, None when unknown.
        driver: `535.104.05`, empty when not said; driver_cuda: the CUDA version that nvidia-smi prints.
    """

    asked: str = ""
    gpu: str = ""
    name: str = ""
    capability: str = ""
    memory_bytes: int | None = None
    driver: str = ""
    driver_cuda: str = ""


class Finding(Record, kw_only=True):
    """One thing about a stack on a target; `rule` is a row of `data/rules/`, which gives its severity."""

    rule: str
    severity: Severity
    found: str
    needed: str = ""
    why: str = ""
    fix: list[str] = []
    source: str = ""
    where: str = ""


class FileFit(Record, kw_only=True):
    """How the containers of one file fit a target: number of containers by word.

    Words: exact, compat (same major, lower minor), jit (from PTX), jitlink (relinked at load), none.
    A file is not `loaded` where its package has another one for this CUDA or card: then it is listed alone.
    """

    path: str
    owner: str
    containers: dict[str, int]
    vendor: bool = False
    loaded: bool = True


class TargetReport(Record, kw_only=True):
    """The verdict for one target."""

    gpu: str
    name: str
    capability: str
    driver: str
    verdict: Fit
    findings: list[Finding]
    files: list[FileFit] = []


class CheckReport(Record, kw_only=True):
    """`findings.json`: what was judged, and the verdict for each target.

    Attributes:
        stack: short facts for people: torch, CUDA, Python, what the code list rests on.
        allowed: the user built although a target fails (`--allow-incompatible`).
        arch_list: TORCH_CUDA_ARCH_LIST that fits the targets, empty when none is known.
    """

    schema: int = 1
    stack: dict[str, Any]
    targets: list[TargetReport]
    allowed: bool = False
    arch_list: str = ""
