"""What a compiled file says of itself: GPU code by container, libraries, symbols. Facts only."""

from collections import Counter
from typing import Literal

from repro.model.record import Record

Kind = Literal["sass", "ptx", "lto", "other"]
Section = Literal["exec", "reloc", "data"]


class GpuCode(Record, kw_only=True):
    """One image in a container: machine code (`sass`) or text that the driver compiles (`ptx`).

    Attributes:
        arch: `80`, `90a`, `100f`; `a` runs on that chip alone, `f` on its family.
        isa: version of the PTX language, `8.7`; empty for machine code.
    """

    kind: Kind
    arch: str
    isa: str = ""


class ContainerGroup(Record, kw_only=True):
    """Containers of one file that are alike; a container is what one compiled source file brings.

    Attributes:
        section: `exec` is what the driver loads, `reloc` what it may relink, `data` what a vendor's
            library loads by itself.
        judged: the driver can be asked for it: registered, not empty, no product of the device linker.
        wrapper: version of the registration, 1 plain, 2 device link, 0 none found.
        images: code of one such container, in the order of the file; count: how many containers.
    """

    section: Section
    judged: bool
    wrapper: int
    images: list[GpuCode]
    count: int


class ElfFacts(Record, kw_only=True):
    """What a shared object asks of its surroundings.

    Attributes:
        machine: `x86_64`, `aarch64`, else the number in the header.
        needed: names in DT_NEEDED; `runpath` the folders of RPATH and RUNPATH.
        glibc, glibcxx, cxxabi: greatest version asked for, empty when none.
        torch_symbols: undefined names that belong to torch, mangled, sorted.
        missing: those of them that the torch it was held against lacks; None when it was held against none.
        string_abi: C++ string ABI of the undefined torch names: `new`, `old`, or empty.
    """

    machine: str
    soname: str = ""
    needed: list[str] = []
    runpath: list[str] = []
    glibc: str = ""
    glibcxx: str = ""
    cxxabi: str = ""
    torch_symbols: list[str] = []
    missing: list[str] | None = None
    string_abi: Literal["", "new", "old"] = ""


class BinaryFacts(Record, kw_only=True):
    """One compiled file.

    Attributes:
        path: member name in the wheel, or path in the image or folder.
        owner, version: distribution that brought it, empty when nobody claims it.
        form: `elf`, `fatbin` (bare container file) or `cubin` (bare machine code).
        groups: GPU code; empty when it has none.
        joined: registrations were matched with containers; without it `judged` is by section alone.
        problems: what could not be read, one sentence each, as `cut at byte 4096 of 9000`.
    """

    path: str
    bytes: int
    owner: str = ""
    version: str = ""
    form: Literal["elf", "fatbin", "cubin"] = "elf"
    groups: list[ContainerGroup] = []
    joined: bool = True
    elf: ElfFacts | None = None
    problems: list[str] = []

    def counts(self, kind: Kind, *sections: Section) -> dict[str, int]:
        """Number of images by architecture, in the sections named, by default those of the driver."""
        wanted = sections or ("exec", "reloc")
        found: Counter[str] = Counter()
        for group in self.groups:
            if group.section in wanted:
                for code in group.images:
                    found[code.arch] += group.count if code.kind == kind else 0
        return {arch: n for arch, n in sorted(found.items(), key=lambda item: _order(item[0])) if n}


def _order(arch: str) -> tuple[int, str]:
    return int(arch.rstrip("af") or 0), arch


class WheelFacts(Record, kw_only=True):
    """One wheel, or one distribution as installed.

    Attributes:
        reader: version of the reader that made these facts; another one reads anew.
        sha256: of the wheel; empty for an installed distribution.
        binaries: its compiled files, with GPU code or without.
        torch_cuda, torch_arch_list: of torch itself: `11.7` and the list compiled into it.
        git_version: of torch itself.
    """

    reader: int
    file: str
    sha256: str
    name: str
    version: str
    binaries: list[BinaryFacts] = []
    torch_cuda: str = ""
    torch_arch_list: list[str] = []
    git_version: str = ""


class ImageFacts(Record, kw_only=True):
    """A file system with its installed distributions.

    Attributes:
        reader: as in `WheelFacts`; image: the image's id. Filled where the facts are kept.
        wheels: one for each distribution; compiled files that nobody claims are in one without a name.
        libraries: file names of all shared objects, sorted.
        glibc: version, empty where there is none or it does not say.
        os_release: the lines of `/etc/os-release`, `ID`, `VERSION_ID`, `VERSION_CODENAME`...
        python: minor of the interpreter that has the distributions, `3.10`; empty when not clear.
    """

    reader: int = 0
    image: str = ""
    wheels: list[WheelFacts] = []
    libraries: list[str] = []
    glibc: str = ""
    os_release: dict[str, str] = {}
    python: str = ""
