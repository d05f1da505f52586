"""What a file with GPU code is: a library, a bare container file, or bare machine code."""

from repro.scan.elf.layout import ElfHeader, header
from repro.scan.fatbin.container import MAGIC, Container, Form, Image
from repro.scan.reader import Unreadable

_CUDA = 190  # e_machine of machine code for a card


def form(head: bytes) -> Form:
    """What the first 64 bytes of a file say it is; Unreadable when it is none of ours."""
    if head[:4] == MAGIC:
        return "fatbin"
    return "cubin" if header(head).machine == _CUDA else "elf"


def cubin(head: bytes, size: int) -> Container:
    """Bare machine code, as the container that a compiler would have put it into."""
    image = Image("sass", _arch(header(head)), 0, size, 0, None, "")
    return Container("exec", 0, size, (image,), 0, judged=True)


def _arch(top: ElfHeader) -> str:
    """Architecture as a number, `80`; the suffixes a and f are not in the header.

    Place by ABI version: LLVM pull request 75624, and files of both kinds.
    """
    if top.abi == 7:
        return str(top.flags & 0xFF)
    if top.abi == 8:
        return str(top.flags >> 8 & 0xFF)
    raise Unreadable(f"is machine code of ABI version {top.abi}; the place of its architecture is not known")
