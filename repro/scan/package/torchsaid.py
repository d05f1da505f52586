"""What a torch says of itself: the CUDA version and commit in `version.py`, the targets in a library."""

import re

VERSION_FILE = "torch/version.py"
ARCH_LIST_FILE = "torch/lib/libtorch_python.so"

_VALUE = r"^{}\s*(?::[^=\n]*)?=\s*['\"]([^'\"\n]*)['\"]"
_CUDA = re.compile(_VALUE.format("cuda"), re.MULTILINE)
_COMMIT = re.compile(_VALUE.format("git_version"), re.MULTILINE)

_TARGET = rb"(?:sm|compute)_\d{2,3}[af]?"
_LIST = re.compile(_TARGET + rb"(?: " + _TARGET + rb")*(?=\0)")
_LONGEST = 1024


def ends_with(path: str, name: str) -> bool:
    """Whether `path` is `name`, in whatever folder."""
    return path == name or path.endswith("/" + name)


def cuda_and_commit(text: str) -> tuple[str, str]:
    """CUDA version and commit that a `torch/version.py` names, each empty when it names none."""
    found = (_CUDA.search(text), _COMMIT.search(text))
    return found[0][1] if found[0] else "", found[1][1] if found[1] else ""


class ArchList:
    """Finds the string behind `torch.cuda.get_arch_list()` in chunks of libtorch_python.so.

    It stands there as plain text, `sm_37 sm_50 ...`, with a zero byte after it.
    """

    def __init__(self) -> None:
        self._before = b""
        self._found: list[str] = []

    def feed(self, chunk: bytes) -> None:
        """Look into the next chunk."""
        if b"sm_" in chunk or b"sm_" in self._before:
            for said in _LIST.findall(self._before + chunk):
                targets = said.decode().split(" ")
                self._found = max(self._found, targets, key=len)
        self._before = chunk[-_LONGEST:]

    @property
    def targets(self) -> list[str]:
        """The longest list seen, empty when there was none."""
        return self._found
