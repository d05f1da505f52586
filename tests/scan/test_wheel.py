"""Wheels read where they lie: GPU code, libraries, symbols, and what a torch says of itself."""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from repro.errors import ReproError
from repro.events import Event, Progress
from repro.files import sha256_file
from repro.model.binary import BinaryFacts, ImageFacts, WheelFacts
from repro.scan.elf.hold import hold
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.walk import walk
from repro.scan.package.cache import READER, exports_for, facts_for, image_for, keep_image
from repro.scan.package.wheel import scan_wheel
from repro.scan.reader import FileBytes

from .wheels import EXTENSION, FATBIN, TARGETS, TORCH, fat, noise, plain, wheel

METHODS = pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"]
)
ROOT = Path(__file__).resolve().parent.parent.parent


def file(facts: WheelFacts, path: str) -> BinaryFacts:
    (found,) = (binary for binary in facts.binaries if binary.path == path)
    return found


@METHODS
def test_gpu_code_is_that_of_the_files(method: int, tmp_path: Path) -> None:
    names = sorted(path.name for path in FATBIN.iterdir() if path.suffix in (".so", ".fatbin"))
    path = wheel(tmp_path, "many", "1.0", {f"many/{name}": fat(name) for name in names}, method)
    facts = scan_wheel(path, tmp_path / "cache")
    assert (facts.name, facts.version, facts.file) == ("many", "1.0", path.name)
    assert (facts.sha256, facts.reader) == (sha256_file(path), READER)
    assert [binary.path for binary in facts.binaries] == [f"many/{name}" for name in names]
    for name in names:
        with FileBytes(FATBIN / name) as reader:
            code = walk(reader, deep=True)
        found = file(facts, f"many/{name}")
        assert (found.groups, found.joined, found.problems) == (groups(code), code.joined, [])
        assert (found.form, found.bytes) == (code.form, len(fat(name)))
        assert (found.owner, found.version) == ("many", "1.0")


@METHODS
def test_a_library_of_many_chunks(method: int, tmp_path: Path) -> None:
    """Tables at both ends of 40 MB, with copies of the decompressor between them."""
    filling = noise(1 << 20) * 40
    data = fat("two_tu.so") + filling
    facts = scan_wheel(wheel(tmp_path, "big", "1", {"big/_C.so": data}, method), tmp_path / "cache")
    found = file(facts, "big/_C.so")
    assert found.counts("sass") == {"80": 2, "86": 1, "90": 1}
    assert (found.bytes, found.joined, found.problems) == (len(data), True, [])
    assert found.elf is not None
    assert "libc.so.6" in found.elf.needed


def test_names_of_a_sibling_are_not_those_of_torch(tmp_path: Path) -> None:
    facts = scan_wheel(wheel(tmp_path, "ext", "2", EXTENSION), tmp_path / "cache")
    part, extension = file(facts, "ext/part.so").elf, file(facts, "ext/libextension.so").elf
    assert part is not None
    assert extension is not None
    assert part.torch_symbols == ["_ZN3c105ErrorC2ENS_14SourceLocationESs"]
    assert len(extension.torch_symbols) == 5
    alone = scan_wheel(wheel(tmp_path, "alone", "2", {"a/part.so": plain("part.so")}), tmp_path / "cache")
    assert len(file(alone, "a/part.so").elf.torch_symbols) == 2  # type: ignore[union-attr]


def test_a_torch_says_its_cuda_targets_and_names(tmp_path: Path) -> None:
    torch = scan_wheel(wheel(tmp_path, "torch", "1.13.1", TORCH), tmp_path / "cache")
    assert (torch.torch_cuda, torch.git_version, torch.torch_arch_list) == ("11.7", "49444c3", TARGETS)
    exports = exports_for(torch.sha256, tmp_path / "cache")
    assert exports is not None
    assert len(exports) == 3
    assert "torch_library_impl" in exports
    assert "_ZN3c106hiddenEv" not in exports
    other = scan_wheel(wheel(tmp_path, "ext", "2", EXTENSION), tmp_path / "cache")
    assert (other.torch_cuda, other.git_version, other.torch_arch_list) == ("", "", [])
    assert exports_for(other.sha256, tmp_path / "cache") is None


def test_extensions_are_held_against_a_torch(tmp_path: Path) -> None:
    torch = scan_wheel(wheel(tmp_path, "torch", "1.13.1", TORCH), tmp_path / "cache")
    exports = exports_for(torch.sha256, tmp_path / "cache")
    assert exports is not None
    files = EXTENSION | {"ext/gpu.fatbin": fat("plain.fatbin"), "ext/new.so": plain("new.so")}
    facts = scan_wheel(wheel(tmp_path, "ext", "2", files), tmp_path / "cache")
    held = {binary.path: binary.elf for binary in hold(facts.binaries, exports)}
    assert held["ext/part.so"].missing == []  # type: ignore[union-attr]
    assert held["ext/libextension.so"].missing == [  # type: ignore[union-attr]
        "_Z16THPVariable_WrapN2at10TensorBaseE",
        "_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEE",
        "aoti_torch_device_type_cuda",
    ]
    assert any("__cxx11" in name for name in held["ext/new.so"].missing or [])  # type: ignore[union-attr]
    assert held["ext/gpu.fatbin"] is None


def test_a_torch_with_an_unreadable_library_offers_nothing(tmp_path: Path) -> None:
    """Half of the names would make every extension look broken."""
    broken = TORCH | {"torch/lib/libtorch_cpu.so": plain("libc10.so")[:400]}
    torch = scan_wheel(wheel(tmp_path, "torch", "1.13.1", broken), tmp_path / "cache")
    assert exports_for(torch.sha256, tmp_path / "cache") is None
    assert file(torch, "torch/lib/libtorch_cpu.so").problems


def test_a_torch_that_lacks_a_library_offers_nothing(tmp_path: Path) -> None:
    """Here the one that is there says that it needs libc10.so."""
    files = TORCH | {"torch/lib/libtorch_python.so": plain("new.so")}
    torch = scan_wheel(
        wheel(tmp_path, "torch", "1.13.1", {k: v for k, v in files.items() if not k.endswith("libc10.so")}),
        tmp_path / "cache",
    )
    assert exports_for(torch.sha256, tmp_path / "cache") is None
    whole = scan_wheel(wheel(tmp_path, "torch", "1.13.1", files), tmp_path / "cache")
    assert exports_for(whole.sha256, tmp_path / "cache") is not None


def test_what_is_not_compiled_is_passed_over(tmp_path: Path) -> None:
    files = {
        "a/b.py": b"\x7fELF by name no",
        "a/data": b"no ELF",
        "a/c.bin": b"",
        "a/lib.dll": b"MZ",
        "a/.hidden": b"x",
    }
    facts = scan_wheel(wheel(tmp_path, "a", "1", files | {"a/tool": plain("new.so")}), tmp_path / "cache")
    assert [binary.path for binary in facts.binaries] == ["a/tool"]


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    heard: list[Event] = []
    data = plain("old.so") + noise(20 << 20)
    path = wheel(tmp_path, "big", "1", {"big/_C.so": data})
    scan_wheel(path, tmp_path / "cache", heard.append)
    assert len(heard) >= 3
    assert all(
        isinstance(event, Progress) and (event.what, event.unit) == (path.name, "B") for event in heard
    )
    done = [event.done for event in heard if isinstance(event, Progress)]
    assert done == sorted(done)
    assert isinstance(heard[-1], Progress)
    assert heard[-1].done == heard[-1].total == len(data)


def test_an_interrupt_ends_it_and_keeps_nothing(tmp_path: Path) -> None:
    def impatient(event: Event) -> None:
        raise KeyboardInterrupt

    path = wheel(tmp_path, "big", "1", {"big/_C.so": plain("old.so") + bytes(20 << 20)}, zipfile.ZIP_STORED)
    with pytest.raises(KeyboardInterrupt):
        scan_wheel(path, tmp_path / "cache", impatient)
    assert not (tmp_path / "cache").exists()
    assert scan_wheel(path, tmp_path / "cache").binaries


def test_the_second_look_reads_no_wheel(tmp_path: Path) -> None:
    path = wheel(tmp_path, "torch", "1.13.1", TORCH)
    sha256 = sha256_file(path)
    assert facts_for(sha256, tmp_path / "cache") is None
    first = scan_wheel(path, tmp_path / "cache", sha256=sha256)
    path.unlink()
    assert scan_wheel(path, tmp_path / "cache", sha256=sha256) == first
    assert facts_for(sha256, tmp_path / "cache") == first
    renamed = scan_wheel(tmp_path / "other.whl", tmp_path / "cache", sha256=sha256)
    assert renamed == msgspec.structs.replace(first, file="other.whl")


def damaged(path: Path, change: str) -> None:
    text = path.read_text()
    new = {
        "cut": text[: len(text) // 2],
        "empty": "",
        "another reader": text.replace(f'"reader":{READER}', f'"reader":{READER + 1}'),
        "another wheel": json.dumps(json.loads(text) | {"sha256": "0" * 64}),
        "another shape": '{"reader": 1}',
        "no text": "\udcff",
    }[change]
    path.write_text(new, errors="surrogateescape")


@pytest.mark.parametrize(
    "change", ["cut", "empty", "another reader", "another wheel", "another shape", "no text"]
)
def test_a_damaged_cache_is_made_anew(change: str, tmp_path: Path) -> None:
    path = wheel(tmp_path, "torch", "1.13.1", TORCH)
    first = scan_wheel(path, tmp_path / "cache")
    (kept,) = (tmp_path / "cache" / "scan").glob("*/*.json")
    damaged(kept, change)
    assert facts_for(first.sha256, tmp_path / "cache") is None
    assert scan_wheel(path, tmp_path / "cache") == first
    assert facts_for(first.sha256, tmp_path / "cache") == first


@pytest.mark.parametrize("change", [b"", b"repro exports 1\n", None])
def test_damaged_names_of_a_torch_are_made_anew(change: bytes | None, tmp_path: Path) -> None:
    path = wheel(tmp_path, "torch", "1.13.1", TORCH)
    first = scan_wheel(path, tmp_path / "cache")
    (kept,) = (tmp_path / "cache" / "scan").glob("*/*.exports")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-8] if change is None else change)
    assert exports_for(first.sha256, tmp_path / "cache") is None
    assert facts_for(first.sha256, tmp_path / "cache") is None
    scan_wheel(path, tmp_path / "cache")
    assert kept.read_bytes() == whole


def test_other_facts_need_another_number_of_the_reader(tmp_path: Path) -> None:
    """Facts are kept by that number: where they change on purpose, count READER up, note the digest."""
    files = (
        TORCH
        | EXTENSION
        | {name: fat(name) for name in ("blackwell.so", "rdc.so", "stub.so", "plain.fatbin")}
    )
    facts = scan_wheel(wheel(tmp_path, "torch", "1.13.1", files), tmp_path / "cache")
    exports = exports_for(facts.sha256, tmp_path / "cache")
    assert exports is not None
    same = msgspec.structs.replace(facts, sha256="")  # that of a wheel made here is another one each time
    seen = hashlib.sha256(msgspec.json.encode(same) + exports.pack()).hexdigest()
    assert (READER, seen[:16]) == (1, "0722083b88075c16")


def test_an_image_is_kept_by_its_id(tmp_path: Path) -> None:
    image, facts = f"sha256:{'ab' * 32}", ImageFacts(libraries=["libc.so.6"], python="3.10")
    assert image_for(image, tmp_path) is None
    keep_image(facts, image, tmp_path)
    kept = image_for(image, tmp_path)
    assert kept == msgspec.structs.replace(facts, reader=READER, image=image)
    assert image_for(f"sha256:{'cd' * 32}", tmp_path) is None
    (path,) = (tmp_path / "scan").glob("*/*.image.json")
    path.write_bytes(path.read_bytes()[:40])
    assert image_for(image, tmp_path) is None


def test_a_digest_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no SHA-256"):
        facts_for("../../etc/passwd", tmp_path)


def test_memory_does_not_grow_with_the_wheel(tmp_path: Path) -> None:
    """100 MB of library, hardly compressible, in a process of its own."""
    path = tmp_path / "big-1-cp310-cp310-linux_x86_64.whl"
    block = noise(1 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("big-1.dist-info/METADATA", "Name: big\nVersion: 1\n")
        with archive.open("big/_C.so", "w") as member:
            member.write(plain("old.so"))
            for _ in range(100):
                member.write(block)
    program = (
        "import sys; from pathlib import Path; from repro.scan.package.wheel import scan_wheel;"
        "facts = scan_wheel(Path(sys.argv[1]), Path(sys.argv[2]));"
        "print(facts.binaries[0].bytes, Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(path), str(tmp_path / "cache")],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    size, kibibytes = map(int, told.stdout.split())
    assert size > 100 << 20
    assert kibibytes < 60 * 1024


def test_a_zip_without_metadata_is_no_wheel(tmp_path: Path) -> None:
    path = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("deep/a-1.dist-info/METADATA", "Name: a\n")
    with pytest.raises(ReproError, match="no wheel") as problem:
        scan_wheel(path, tmp_path / "cache")
    assert problem.value.code == "wheel-unreadable"


def test_bare_machine_code(tmp_path: Path) -> None:
    """A .cubin: an ELF file for the machine CUDA; ABI 7 has the target in the low byte of its flags."""
    header = (
        b"\x7fELF\x02\x01\x01\x33\x07".ljust(16, b"\0")
        + (2).to_bytes(2, "little")
        + (190).to_bytes(2, "little")
    )
    header = header.ljust(48, b"\0") + (0x500550).to_bytes(4, "little") + bytes(12)
    facts = scan_wheel(wheel(tmp_path, "bare", "1", {"bare/k.cubin": header}), tmp_path / "cache")
    found = file(facts, "bare/k.cubin")
    assert (found.form, found.elf, found.problems) == ("cubin", None, [])
    assert found.counts("sass") == {"80": 1}
