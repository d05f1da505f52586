"""Releases of torch and their CUDA builds for Linux on x86-64."""

import re
from functools import cache

import msgspec

from repro.model.record import Record
from repro.tables.read import table


class Build(Record, kw_only=True):
    """One CUDA build of a release.

    Attributes:
        tag: local version tag, `cu118`; `cuda`: toolkit it was made with, `11.8`.
        on_pypi: it is what a plain `pip install torch==VERSION` takes.
        sass, ptx: targets of PyTorch's own kernels, `sm_80`, `compute_37`; `arch_source`: where read.
        ptx_claimed: documented, but not found where the wheel was read, or not read.
        torch_cuda_arch_list: as given to the build.
        requires: exact pins of the wheel on the index, markers dropped.
    """

    tag: str
    cuda: str
    on_pypi: bool
    torch_cuda_arch_list: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    arch_source: str
    ptx_claimed: tuple[str, ...] = ()
    cudnn: str = ""
    cudnn_major: int = 0
    cudnn_source: str = ""
    cuda_libs: str = ""
    requires: tuple[str, ...] = ()
    note: str = ""


class Release(Record, kw_only=True, rename={"pythons": "python", "builds": "variant"}):
    """One release.

    Attributes:
        released: date of the first wheel for Linux, `2022-12-15`.
        pythons: CPython minors with a wheel, `3.10`; `3.13t` is free-threaded.
        pypi_tag: tag of the build behind a plain requirement.
        rebuilt: wheels with a later build number exist: lock by hash.
        torchvision, torchaudio: partner versions; the `_source` fields say how strict (`wheel`: pinned).
        torch_dunder_version: what `torch.__version__` prints in the wheel on the index, empty when not read.
        source: where the row was read; a build says its own in `arch_source`.
    """

    version: str
    released: str
    pythons: tuple[str, ...]
    pypi_tag: str
    builds: tuple[Build, ...]
    manylinux: tuple[str, ...]
    pypi_linux_aarch64: bool
    torchvision: str
    torchvision_source: str
    torchaudio: str
    torchaudio_source: str
    requires_python: str
    source: str
    pairing_note: str = ""
    rebuilt: bool = False
    torch_dunder_version: str = ""
    git_version: str = ""

    @property
    def plain_pythons(self) -> list[str]:
        """Python minors with an ordinary (not free-threaded) wheel, oldest first."""
        return [python for python in self.pythons if not python.endswith("t")]


@cache
def releases() -> dict[str, Release]:
    """All releases by version, oldest first."""
    rows = msgspec.convert(table("torch_releases")["release"], list[Release])
    return {row.version: row for row in rows}


def release(version: str) -> Release | None:
    """The release for a version as people write it: `1.10` is 1.10.0, local tags do not count; else None.

    Pre-releases, nightlies and post-releases are not in the table: each gives None.
    """
    bare = version.strip().removeprefix("v").split("+")[0]
    return releases().get(bare) or releases().get(f"{bare}.0")


def build_of(version: str, tag: str = "") -> Build | None:
    """The build of a release with a tag, without one as the version says or the index has it; else None."""
    found = release(version)
    if found is None:
        return None
    wanted = tag or _local(version) or found.pypi_tag
    return next((build for build in found.builds if build.tag == wanted), None)


def _local(version: str) -> str:
    """`cu117` of `1.13.1+cu117.with.pypi.cudnn`."""
    return re.split(r"[._-]", version.partition("+")[2].strip())[0]
