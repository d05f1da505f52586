"""The file system of an image as a stream, and the same files at hand."""

import hashlib
import io
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.events import Event, Progress
from repro.model.binary import BinaryFacts, WheelFacts
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.walk import walk
from repro.scan.package.compiled import Compiled, from_file, from_stream
from repro.scan.package.passing import PIECE, Passing
from repro.scan.package.tar import scan_tar
from repro.scan.reader import MemoryBytes, Unreadable

from .fatbins import container, library
from .fatbins import image as image_of
from .wheels import EXTENSION, TARGETS, TORCH, fat, installed, plain, tar

SITE = "usr/local/lib/python3.10/site-packages"
LIBC = plain("libc10.so") + b"GNU C Library (Debian GLIBC 2.31-13+deb11u5) stable release version 2.31.\n"
OS_RELEASE = (
    b'PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\nID=debian\nVERSION_ID="11"\nVERSION_CODENAME=bullseye\n'
)


def site() -> dict[str, bytes]:
    """Site-packages with a torch, an extension of two files and GPU code, and a file that nobody claims."""
    gpu = EXTENSION | {"ext/gpu.so": fat("rdc.so"), "ext/__init__.py": b""}
    return (
        installed("torch", "1.13.1", TORCH)
        | installed("ext", "2.0", gpu)
        | installed("pure_python", "0.1", {"pure.py": b"x = 1\n"})
        | {"stray/_C.cpython-310-x86_64-linux-gnu.so": fat("two_tu.so")}
    )


def image(order: int = 0) -> dict[str, bytes]:
    files = {f"{SITE}/{name}": data for name, data in site().items()} | {
        "etc/os-release": OS_RELEASE,
        "lib/x86_64-linux-gnu/libc.so.6": LIBC,
        "usr/lib/x86_64-linux-gnu/libGL.so.1.7.0": plain("libc10.so"),
        "usr/local/bin/python3.10": plain("new.so"),
        "usr/local/lib/python3.10/lib-dynload/_ssl.cpython-310-x86_64-linux-gnu.so": plain("old.so"),
        "work/build/mine.cpython-310-x86_64-linux-gnu.so": plain("part.so"),
    }
    mixed = sorted(files, key=lambda name: hashlib.sha256(f"{order} {name}".encode()).digest())
    return {name: files[name] for name in mixed}


def by_path(wheels: list[WheelFacts]) -> dict[str, BinaryFacts]:
    return {binary.path: binary for found in wheels for binary in found.binaries}


@pytest.mark.parametrize("order", range(5))
def test_an_image_in_whatever_order(order: int) -> None:
    links = {"usr/lib/x86_64-linux-gnu/libGL.so.1": "libGL.so.1.7.0", "usr/bin/tool": "x"}
    facts = scan_tar(io.BytesIO(tar(image(order), links)))
    assert [(found.name, found.version) for found in facts.wheels] == [
        ("ext", "2.0"),
        ("pure-python", "0.1"),
        ("torch", "1.13.1"),
        ("", ""),
    ]
    assert (facts.glibc, facts.python, facts.os_release["VERSION_CODENAME"]) == ("2.31", "3.10", "bullseye")
    assert {"libc.so.6", "libGL.so.1", "libGL.so.1.7.0", "libc10.so"} <= set(facts.libraries)
    assert facts.libraries == sorted(facts.libraries)
    ext, _, torch, stray = facts.wheels
    assert (torch.torch_cuda, torch.torch_arch_list, torch.git_version) == ("11.7", TARGETS, "49444c3")
    assert {binary.owner for binary in ext.binaries} == {"ext"}
    assert sorted(binary.path for binary in stray.binaries) == [
        f"{SITE}/stray/_C.cpython-310-x86_64-linux-gnu.so",
        "work/build/mine.cpython-310-x86_64-linux-gnu.so",
    ]


def test_code_and_symbols_are_those_of_the_files() -> None:
    found = by_path(scan_tar(io.BytesIO(tar(image()))).wheels)
    for path, name in (
        (f"{SITE}/ext/gpu.so", "rdc.so"),
        (f"{SITE}/stray/_C.cpython-310-x86_64-linux-gnu.so", "two_tu.so"),
    ):
        assert found[path].groups == groups(walk(MemoryBytes(fat(name))))
        assert (found[path].joined, found[path].problems) == (True, [])
    part, extension = found[f"{SITE}/ext/part.so"].elf, found[f"{SITE}/ext/libextension.so"].elf
    assert part is not None
    assert extension is not None
    assert (part.missing, len(part.torch_symbols)) == ([], 1)
    assert extension.missing == [
        "_Z16THPVariable_WrapN2at10TensorBaseE",
        "_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEE",
        "aoti_torch_device_type_cuda",
    ]


def streamed(path: str, data: bytes) -> Compiled | None:
    kept = Passing(len(data))

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(data), PIECE):
            kept.feed(data[start : start + PIECE])
            yield data[start : start + PIECE]

    return from_stream(path, data[:64], chunks(), kept)


def test_a_file_at_hand_says_the_same_as_one_that_goes_by() -> None:
    vendor = library(
        container(image_of(arch=80)), data=b"abcd" * 2 + container(image_of(arch=90), image_of(arch=100))
    )
    files = site() | {
        "nvidia/libcublasLt.so.12": vendor,
        "far.so": far_apart(3 << 20),
        "text.so": b"INPUT(-lc)",
    }
    for path, data in files.items():
        assert from_file(path, MemoryBytes(data)) == streamed(path, data), path
    found = from_file("a.so", MemoryBytes(vendor))
    assert found is not None
    assert found.facts.counts("sass", "data") == {"90": 1, "100": 1}


def test_each_torch_is_for_its_own_neighbours() -> None:
    """A stray file could belong to either, so it is held against none."""
    one, other = "opt/one/lib/python3.10/site-packages", "opt/other/lib/python3.11/site-packages"
    lacking = TORCH | dict.fromkeys(("torch/lib/libc10.so", "torch/lib/libtorch_python.so"), plain("new.so"))
    files = installed("torch", "1.13.1", TORCH) | installed("ext", "2", EXTENSION)
    others = installed("torch", "2.9.1", lacking) | installed("ext", "2", EXTENSION)
    content = {f"{one}/{name}": data for name, data in files.items()}
    content |= {f"{other}/{name}": data for name, data in others.items()}
    content |= {"work/my.cpython-310-x86_64-linux-gnu.so": plain("old.so")}
    facts = scan_tar(io.BytesIO(tar(content)))
    found = by_path(facts.wheels)
    assert found[f"{one}/ext/part.so"].elf.missing == []  # type: ignore[union-attr]
    assert found[f"{other}/ext/part.so"].elf.missing == found[f"{other}/ext/part.so"].elf.torch_symbols  # type: ignore[union-attr]
    assert found["work/my.cpython-310-x86_64-linux-gnu.so"].elf.missing is None  # type: ignore[union-attr]


def test_no_torch_means_no_judgement() -> None:
    files = {f"{SITE}/{name}": data for name, data in installed("ext", "2.0", EXTENSION).items()}
    (ext,) = scan_tar(io.BytesIO(tar(files))).wheels
    assert [binary.elf.missing for binary in ext.binaries if binary.elf] == [None, None]


def test_what_a_distribution_brings_for_itself_is_no_distribution() -> None:
    inside = {f"{SITE}/tools/_vendor/{name}": data for name, data in installed("old", "0.1", {}).items()}
    assert scan_tar(io.BytesIO(tar(inside))).wheels == []


def test_an_older_installation_and_a_damaged_record() -> None:
    files = {
        f"{SITE}/Old-0.1.egg-info/PKG-INFO": b"Metadata-Version: 1.0\nName: Old\nVersion: 0.1\n",
        f"{SITE}/Old-0.1.egg-info/installed-files.txt": b"../old/_C.so\n../old/a.py\n",
        f"{SITE}/old/_C.so": plain("part.so"),
        f"{SITE}/new-2.dist-info/RECORD": b'new/_C.so,,\n"new/b.so,,\n' + b"x" * 200000,
        f"{SITE}/new/_C.so": plain("part.so"),
    }
    wheels = scan_tar(io.BytesIO(tar(files))).wheels
    assert [(found.name, found.version, len(found.binaries)) for found in wheels] == [
        ("new", "2", 1),
        ("old", "0.1", 1),
    ]


def test_hard_links_into_a_store() -> None:
    """As uv installs with its cache in the same file system: content comes under the name in the cache."""
    store = {f"root/.cache/uv/archive-v0/{name[0]}Xy_/{name}": (name, data) for name, data in site().items()}
    content = tar(
        {path: data for path, (_, data) in store.items()},
        twins={f"{SITE}/{name}": path for path, (name, _) in store.items()},
    )
    whole = tar({f"{SITE}/{name}": data for name, data in site().items()})
    assert scan_tar(io.BytesIO(content)).wheels == scan_tar(io.BytesIO(whole)).wheels


@pytest.mark.parametrize("at", [0.0, 0.3, 0.7, 0.95])
def test_a_stream_that_ends_early(at: float) -> None:
    whole = tar(image())
    cut = int(len(whole) * at) // 512 * 512 + (100 if at == 0.3 else 0)
    with pytest.raises(ReproError) as problem:
        scan_tar(io.BytesIO(whole[:cut]), what="app:latest")
    assert problem.value.code == "image-stream-broken"
    assert "`app:latest`" in problem.value.message
    assert f"{cut} bytes came" in problem.value.found


def test_a_stream_cut_between_two_files() -> None:
    """Nothing but the missing end tells it from a whole one."""
    whole = tar({"a": b"x" * 512})
    with pytest.raises(ReproError, match="to its end"):
        scan_tar(io.BytesIO(whole[:1024]))


def test_no_tar_at_all() -> None:
    with pytest.raises(ReproError) as problem:
        scan_tar(io.BytesIO(b"Error response from daemon: no such container\n" * 40))
    assert problem.value.code == "image-stream-broken"


def test_bytes_are_told_as_they_come() -> None:
    heard: list[Event] = []
    content = tar({f"{SITE}/a/_C.so": plain("old.so") + bytes(130 << 20)})
    scan_tar(io.BytesIO(content), heard.append, "app")
    assert [event.what for event in heard if isinstance(event, Progress)] == ["app", "app"]


def far_apart(gap: int) -> bytes:
    """`two_tu.so` with its section table and names moved to behind `gap` bytes."""
    data = fat("two_tu.so")
    (table,) = struct.unpack_from("<Q", data, 40)
    moved = bytearray(data + bytes(gap) + data[table:])
    struct.pack_into("<Q", moved, 40, len(data) + gap)
    return bytes(moved)


def test_a_library_too_large_to_keep() -> None:
    data = far_apart(60 << 20)
    (found,) = by_path(scan_tar(io.BytesIO(tar({f"{SITE}/a/_C.so": data}))).wheels).values()
    assert found.counts("sass") == {"80": 2, "86": 1, "90": 1}
    assert (found.joined, found.problems) == (True, [])
    assert found.elf is not None
    assert found.elf.needed


@pytest.mark.parametrize("moved", [True, False])
def test_names_that_a_tool_has_moved_to_the_end_are_kept(moved: bool) -> None:
    """A tool that lengthens a search path moves dynamic table and names into a last segment of their own."""
    size, dynamic = 400 * PIECE, 360 * PIECE
    start = dynamic if moved else dynamic - PIECE
    parts = [(1, 0, PIECE), (1, start, size - start), (2, dynamic, 0x200)]
    head = bytearray(fat("two_tu.so")[:64])
    struct.pack_into("<QQ", head, 32, 64, size - 64)
    struct.pack_into("<HHHHH", head, 54, 56, len(parts), 64, 0, 0)
    for kind, offset, length in parts:
        head += struct.pack("<IIQQQQQQ", kind, 6, offset, offset, offset, length, length, 8)
    passing = Passing(size)
    passing.feed(bytes(head).ljust(PIECE, b"\0"))
    for _ in range(399):
        passing.feed(b"n" * PIECE)
    assert passing.read(dynamic, 4) == b"nnnn"
    if moved:
        assert passing.read(370 * PIECE, 4) == b"nnnn"
    else:
        with pytest.raises(Unreadable):
            passing.read(370 * PIECE, 4)


def test_parts_that_were_not_kept_are_named() -> None:
    passing = Passing(200 * PIECE)
    for number in range(200):
        passing.feed(bytes([number]) * PIECE)
    assert passing.read(5 * PIECE - 1, 2) == bytes([4, 5])
    assert (
        passing.read(10 * PIECE - 1, 10 * PIECE)
        == b"\x09" + b"".join(bytes([number]) * PIECE for number in range(10, 20))[:-1]
    )
    assert passing.read(200 * PIECE - 3, 10) == bytes([199]) * 3
    assert passing.read(200 * PIECE, 10) == b""
    with pytest.raises(Unreadable, match="went by and were not kept"):
        passing.read(120 * PIECE, 4)


@pytest.mark.docker
def test_an_image_of_a_real_engine(tmp_path: Path) -> None:
    (tmp_path / "root.tar").write_bytes(tar(image()))
    tag = "repro-test/scan-tar:1"
    subprocess.run(["docker", "import", tmp_path / "root.tar", tag], check=True, capture_output=True)
    try:
        create = ["docker", "create", tag, "x"]
        made = subprocess.run(create, check=True, capture_output=True, text=True).stdout.strip()
        try:
            with subprocess.Popen(["docker", "export", made], stdout=subprocess.PIPE) as export:
                assert export.stdout is not None
                facts = scan_tar(export.stdout)
        finally:
            subprocess.run(["docker", "rm", made], check=True, capture_output=True)
    finally:
        subprocess.run(["docker", "rmi", tag], check=True, capture_output=True)
    assert facts.wheels == scan_tar(io.BytesIO(tar(image()))).wheels
    assert (facts.glibc, facts.python) == ("2.31", "3.10")
