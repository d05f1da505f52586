"""Holds extensions against a torch: which of the names they ask for does it lack?"""

from collections.abc import Iterable

import msgspec

from repro.model.binary import BinaryFacts
from repro.scan.elf.exports import Exports


def hold(binaries: Iterable[BinaryFacts], exports: Exports) -> list[BinaryFacts]:
    """The same binaries with `elf.missing` filled; those that ask torch for nothing lack nothing."""
    return [_held(binary, exports) for binary in binaries]


def _held(binary: BinaryFacts, exports: Exports) -> BinaryFacts:
    if binary.elf is None:
        return binary
    missing = [name for name in binary.elf.torch_symbols if name not in exports]
    return msgspec.structs.replace(binary, elf=msgspec.structs.replace(binary.elf, missing=missing))
