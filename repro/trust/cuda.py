"""Parts of NVIDIA's CUDA in wheels: distributions of their own, and libraries that torch carries inside."""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUPPLIER = "NVIDIA Corporation"
_OWN = re.compile(r"nvidia-[a-z0-9-]+|cuda-(?:bindings|pathfinder|python|toolkit)")
_LIBRARY = re.compile(
    r"(?:^|/)lib(?P<name>cudart|cublas(?:Lt)?|cudnn\w*|nccl|cufftw?|cufile(?:_rdma)?|curand|cusparse(?:Lt)?"
    r"|cusolver(?:Mg)?|cupti|nvrtc(?:-builtins)?|nvToolsExt|nvJitLink|nvfatbin|nvblas|nvjpeg|nvperf_host"
    r"|nvshmem_host|npp\w*)(?:-[0-9a-f]{8})?\.so(?:\.(?P<version>[0-9.]+))?$"
)
_CUDA = re.compile(rb"^cuda(?:\s*:[^=\n]+)?\s*=\s*['\"]([0-9.]+)['\"]", re.MULTILINE)
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Part:
    """Something of NVIDIA's inside another wheel; `version` is what its file name says, empty for nothing."""

    name: str
    version: str
    path: str


def is_own(name: str) -> bool:
    """Whether a distribution of that normalised name is NVIDIA's."""
    return bool(_OWN.fullmatch(name))


def parts_in(wheel: Path) -> list[Part]:
    """The libraries of CUDA in a wheel by the names of its files, and the CUDA that a torch was made with.

    A file that is no zip has none: the lock has its digest, and the install says what is wrong with it.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            return sorted(_parts(archive), key=lambda part: part.path)
    except (OSError, zipfile.BadZipFile):
        return []


def _parts(archive: zipfile.ZipFile) -> Iterator[Part]:
    for info in archive.infolist():
        if match := _LIBRARY.search(info.filename):
            yield Part(match["name"], match["version"] or "", info.filename)
        elif info.filename == "torch/version.py" and info.file_size <= _MOST_BYTES:
            for said in _CUDA.findall(archive.read(info)):
                yield Part("CUDA Toolkit", said.decode(), info.filename)
