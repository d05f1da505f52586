"""The names that a torch offers to extensions, as sorted 8-byte digests: 100,000 names in 1 MB."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from heapq import merge
from itertools import groupby

from repro.scan.elf.symbols import digest

_LIBRARIES = frozenset(
    f"torch/lib/lib{name}.so"
    for name in (
        *("c10", "c10_cuda", "torch", "torch_cpu", "torch_cuda"),
        *("torch_cuda_cu", "torch_cuda_cpp", "torch_python"),  # torch_cuda was in two parts from 1.9 to 1.13
    )
)
_MARK = b"repro exports 1\n"
_CHECK = 16  # bytes of the checksum


class Exports:
    """Set of names.

    Args:
        digests: of the names, sorted.
    """

    def __init__(self, digests: "array[int]") -> None:
        self._digests = digests

    def __len__(self) -> int:
        return len(self._digests)

    def __contains__(self, name: str) -> bool:
        return offers(self._digests, name)

    def pack(self) -> bytes:
        """The set as bytes, with a checksum."""
        body = self._digests.tobytes()
        return _MARK + blake2b(body, digest_size=_CHECK).digest() + body


def unpack(data: bytes) -> Exports | None:
    """The set that `Exports.pack` wrote, None when the bytes are damaged or of another version."""
    check, body = data[len(_MARK) : len(_MARK) + _CHECK], data[len(_MARK) + _CHECK :]
    if not data.startswith(_MARK) or len(body) % 8 or blake2b(body, digest_size=_CHECK).digest() != check:
        return None
    return Exports(array("Q", body))


def offers(digests: "array[int]", name: str) -> bool:
    """Whether the digest of `name` is among `digests`, which are sorted."""
    wanted = digest(name.encode())
    at = bisect_left(digests, wanted)
    return at < len(digests) and digests[at] == wanted


def together(several: Iterable["array[int]"]) -> Exports:
    """The names that any one of several libraries offers."""
    return Exports(array("Q", (value for value, _ in groupby(merge(*several)))))


def is_exporter(path: str) -> bool:
    """Whether the file is one of the libraries of torch that extensions are linked with."""
    return "/".join(path.split("/")[-3:]) in _LIBRARIES
