"""What a shared object asks of the loader, read from fixtures, from this machine's libraries, from damage."""

import contextlib
import ctypes.util
import struct
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.model.binary import ElfFacts
from repro.scan.elf.dynamic import surroundings
from repro.scan.elf.layout import sections
from repro.scan.elf.symbols import belongs_to_torch, digest, string_abi
from repro.scan.reader import Bytes, FileBytes, MemoryBytes, Unreadable

from .wheels import ELF, plain

ASKED = [
    "_Z16THPVariable_WrapN2at10TensorBaseE",
    "_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEE",
    "_ZN3c105ErrorC2ENS_14SourceLocationESs",
    "aoti_torch_device_type_cuda",
    "torch_library_impl",
]


def elf_facts(reader: Bytes) -> ElfFacts:
    return surroundings(reader).facts


def test_an_extension_says_what_it_needs() -> None:
    facts = elf_facts(MemoryBytes(plain("old.so")))
    assert facts.machine == "x86_64"
    assert facts.soname == "libextension.so"
    assert facts.needed == ["libc10.so", "libm.so.6", "libc.so.6"]
    assert facts.runpath == ["$ORIGIN/../torch/lib", "$ORIGIN"]
    assert (facts.glibc, facts.glibcxx, facts.cxxabi) == ("2.2.5", "", "")
    assert (
        facts.torch_symbols == ASKED
    )  # nothing weak, versioned, of OpenMP, or of a name that only looks alike
    assert (facts.string_abi, facts.missing) == ("old", None)


def test_the_new_string_abi_is_told_from_the_old_one() -> None:
    facts = elf_facts(MemoryBytes(plain("new.so")))
    assert facts.string_abi == "new"
    assert len(facts.torch_symbols) == len(ASKED)
    assert elf_facts(MemoryBytes(plain("part.so"))).runpath == ["$ORIGIN"]  # DT_RPATH


def test_a_library_offers_what_others_can_see() -> None:
    offered = surroundings(MemoryBytes(plain("libc10.so")), every_name=True).offered
    names = [
        b"_ZN2at4_ops5zeros4callEN3c108ArrayRefIlEE",
        b"_ZN3c105ErrorC2ENS_14SourceLocationESs",
        b"torch_library_impl",
    ]
    assert list(offered) == sorted(map(digest, names))  # the hidden one is not among them
    extension = surroundings(MemoryBytes(plain("old.so"))).offered
    assert list(extension) == [digest(b"_ZN9extension4rollEN2at6TensorE")]


@pytest.mark.parametrize("name", ["old.so", "new.so", "libc10.so"])
def test_no_section_table_is_needed(name: str) -> None:
    """The number of symbols then comes from the hash table, of the GNU kind or of the older one."""
    whole = plain(name)
    bare = bytearray(whole)
    bare[40:48] = bytes(8)
    bare[58:64] = bytes(6)
    assert surroundings(MemoryBytes(bytes(bare)), every_name=True) == surroundings(
        MemoryBytes(whole), every_name=True
    )


def own_libraries() -> list[Path]:
    """Extension modules of this Python and the C library it uses."""
    dynload = Path(sysconfig.get_path("stdlib")) / "lib-dynload"
    maps = Path("/proc/self/maps").read_text().split()
    return sorted(dynload.glob("*.so"))[:20] + sorted({Path(word) for word in maps if "/libc.so" in word})


def by_sections(data: bytes) -> tuple[list[str], set[str]]:
    """Needed libraries and undefined strong unversioned names, by the section table alone."""
    named = {s.name: data[s.offset : s.end] for s in sections(MemoryBytes(data)).sections if s.type != 8}
    text = named[".dynstr"]

    def name(at: int) -> str:
        return text[at : text.index(b"\0", at)].decode()

    needed = [name(value) for tag, value in struct.iter_unpack("<QQ", named[".dynamic"]) if tag == 1]
    symbols = list(struct.iter_unpack("<IBBHQQ", named[".dynsym"]))
    versions = [n for (n,) in struct.iter_unpack("<H", named.get(".gnu.version", b"\1\0" * len(symbols)))]
    asked = {
        name(symbol[0])
        for symbol, version in zip(symbols, versions, strict=True)
        if not symbol[3] and symbol[1] >> 4 == 1 and version == 1
    }
    return needed, asked


@pytest.mark.parametrize("path", own_libraries(), ids=lambda path: path.name)
def test_libraries_of_this_machine_agree_with_their_sections(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.scan.elf.dynamic.belongs_to_torch", lambda name: True)
    with FileBytes(path) as file:
        facts = elf_facts(file)
    assert (facts.needed, set(facts.torch_symbols)) == by_sections(path.read_bytes())


def test_the_c_library_is_recognised() -> None:
    assert ctypes.util.find_library("c") == "libc.so.6"
    (path,) = (p for p in own_libraries() if p.name.startswith("libc"))
    with FileBytes(path) as file:
        assert elf_facts(file).soname == "libc.so.6"


@pytest.mark.parametrize(
    ("name", "belongs"),
    [
        (b"_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", True),
        (b"_ZTIN5torch8autograd4NodeE", True),
        (b"_ZN6caffe28TypeMeta26error_unsupported_typemetaES0_", True),
        (b"_Z9THPDtype_newv", True),
        (b"THPVariableClass", True),
        (b"aoti_torch_delete_tensor_object", True),
        (b"_ZN12attribute_3c4sizeEv", False),
        (b"_ZN13c10nnectorABC4sizeEv", False),
        (b"omp_get_num_threads", False),
        (b"PyTorch_like", False),
        (b"my_torch_function", False),
    ],
)
def test_names_of_torch(name: bytes, belongs: bool) -> None:
    assert belongs_to_torch(name) is belongs


@pytest.mark.parametrize(
    ("names", "abi"),
    [
        (["_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"], "old"),
        (["_ZN3c105ErrorC2ENS_14SourceLocationESs"], "old"),
        (["_ZN2at6SsanneE", "_ZN3c104Oops3getEv"], ""),
        (["_ZN3c10RKSs", "_ZN3c103getENSt7__cxx1112basic_stringE"], "new"),
        ([], ""),
    ],
)
def test_string_abi(names: list[str], abi: str) -> None:
    assert string_abi(names) == abi


def test_an_object_file_has_only_a_machine() -> None:
    header = bytearray(plain("old.so")[:64])
    header[32:40] = bytes(8)  # no program headers
    facts = elf_facts(MemoryBytes(bytes(header)))
    assert (facts.machine, facts.needed, facts.torch_symbols) == ("x86_64", [], [])


def changed(at: int, form: str, *values: int) -> MemoryBytes:
    data = bytearray(plain("old.so"))
    struct.pack_into(form, data, at, *values)
    return MemoryBytes(bytes(data))


DYNAMIC = 0x6A8  # of old.so; entry 0 needs a library, 6 is STRTAB, 8 STRSZ, 18 VERSYM's neighbours


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (changed(54, "<HH", 55, 4), "program headers of 55 bytes"),
        (changed(56, "<H", 0xFFFF), "65535 program headers"),
        (changed(32, "<Q", 1 << 62), "program headers"),
        (changed(DYNAMIC + 8, "<Q", 9999), "a name is said to be at byte 9999 of 370"),
        (changed(DYNAMIC + 16 * 6 + 8, "<Q", 1 << 40), "which is not in the file"),
        (changed(DYNAMIC + 16 * 8 + 8, "<Q", 1 << 40), "the names should reach"),
        (changed(4, "<B", 1), "32-bit"),
        (changed(0, "<I", 0), "no ELF file"),
        (MemoryBytes(b""), "is empty"),
        (MemoryBytes(plain("old.so")[:0x6B0]), "cut at byte 1712"),
    ],
)
def test_damage_is_named(file: MemoryBytes, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        elf_facts(file)


def test_names_that_share_their_text_do_not_fill_the_memory() -> None:
    """A thousand symbols whose names are all the ends of one long name."""
    data = bytearray(plain("old.so"))
    text = b"_Z3c10" * 4000 + b"\0"
    symbols = b"".join(struct.pack("<IBBHQQ", 6 * n + (n == 0) * 6, 0x10, 0, 0, 0, 0) for n in range(4000))
    names_at, symbols_at = len(data), len(data) + len(text)
    data += text + symbols
    struct.pack_into("<Q", data, 40, 0)  # no section table
    chains = len(data)
    data += struct.pack("<II", 0, 4000)
    data += bytes(64)
    fields = {5: names_at, 6: symbols_at, 10: len(text), 0x6FFFFEF5: chains}
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, len(data), len(data), 8)
    (table,) = struct.unpack_from("<Q", data, 32)
    data[table : table + 56] = load
    for entry in range(21):
        tag, _ = struct.unpack_from("<QQ", data, DYNAMIC + 16 * entry)
        if tag in fields:
            struct.pack_into("<QQ", data, DYNAMIC + 16 * entry, 4 if tag > 10 else tag, fields[tag])
        elif tag > 0x6FFFFF00 or tag == 1:
            struct.pack_into("<QQ", data, DYNAMIC + 16 * entry, 0x60000000, 0)
    with pytest.raises(Unreadable, match="share their names"):
        elf_facts(MemoryBytes(bytes(data)))


class Watched(MemoryBytes):
    """A reader that is asked for nothing absurd."""

    def read(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        assert 0 <= length <= 1 << 20
        return super().read(offset, length)


WHOLE = [plain(path.name) for path in sorted(ELF.glob("*.so"))]


@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutations_raise_the_readers_own_error_alone(data: st.DataObject) -> None:
    file = bytearray(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(file) - 8))
        value = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([1 << 31, 1 << 63, (1 << 64) - 1])))
        size = 8 if value > 255 else data.draw(st.sampled_from([1, 2, 4, 8]))
        file[at : at + size] = value.to_bytes(size, "little")
    cut = data.draw(st.integers(0, len(file)))
    file = file if data.draw(st.booleans()) else file[:cut]
    with contextlib.suppress(Unreadable):
        surroundings(Watched(bytes(file)), every_name=True)
