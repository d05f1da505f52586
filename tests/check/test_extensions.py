"""Compiled files that were read: which findings their containers, needs and symbols give."""

import pytest

from repro.check import examine
from repro.check.rules.chosen import chosen_files
from repro.check.rules.extensions import code_of_extensions, unread_files, variants
from repro.check.rules.symbols import cuda_runtime, floors, readable, symbols_of_torch
from repro.model.binary import BinaryFacts, ContainerGroup, ElfFacts, GpuCode
from repro.model.check import Stack, Target, Torch

TORCH = Torch(
    version="2.1.0", tag="cu118", cuda="11.8", make="release", sass=["sm_80", "sm_90"], ptx=[], basis="files"
)


def group(
    *names: str, count: int = 1, isa: str = "8.0", section="exec", judged=True, wrapper=1
) -> ContainerGroup:
    images = []
    for name in names:
        kind, _, arch = name.partition("_")
        text = kind == "compute"
        images.append(GpuCode(kind="ptx" if text else "sass", arch=arch, isa=isa if text else ""))
    return ContainerGroup(section=section, judged=judged, wrapper=wrapper, images=images, count=count)


def binary(*groups: ContainerGroup, path="pkg/_C.so", owner="pkg", **more) -> BinaryFacts:
    return BinaryFacts(path=path, bytes=1, owner=owner, version="1.0", groups=list(groups), **more)


def elf(**more) -> ElfFacts:
    return ElfFacts(machine="x86_64", **more)


def stack(*binaries: BinaryFacts, torch: Torch = TORCH, **more) -> Stack:
    return Stack(origin="wheel", torch=torch, binaries=list(binaries), **more)


def target(capability="8.0", **more) -> Target:
    return Target(asked="card", capability=capability, **more)


def codes(found) -> list[str]:
    return [one.rule for one in found]


@pytest.mark.parametrize(
    ("groups", "capability", "expected"),
    [
        ([group("sm_80", count=8)], "8.6", []),
        ([group("sm_75", "sm_80", "sm_86", count=8)], "9.0", ["extension-no-code"]),
        ([group("sm_80", count=9), group("sm_90", count=1)], "8.0", ["extension-partly"]),
        ([group("sm_80", count=1), group("sm_90", count=9)], "8.0", ["extension-mostly-none"]),
        ([group("sm_80", count=5), group("sm_90", count=5)], "8.0", ["extension-partly"]),
        ([group("sm_52", "compute_52", count=6)], "8.0", ["extension-jit"]),
        (
            [group("sm_52", "compute_52", count=195), group("sm_80", count=411)],
            "8.0",
            ["extension-partly-jit"],
        ),
        ([], "8.0", []),
    ],
)
def test_one_file_on_a_card(groups, capability, expected) -> None:
    assert codes(code_of_extensions(stack(binary(*groups)), target(capability))) == expected


def test_a_finding_says_counts_file_target_and_what_would_help() -> None:
    (found,) = code_of_extensions(stack(binary(group("sm_75", "sm_80", count=8))), target("9.0"))
    assert found.found == "pkg/_C.so: 8 none of 8 containers on 9.0; it holds sm_75 sm_80"
    assert "sm_90" in found.needed
    assert found.fix[0] == "build pkg from source with TORCH_CUDA_ARCH_LIST=9.0"
    assert found.where == "pkg==1.0"
    assert found.severity == "error"
    assert found.source


def test_no_card_no_finding() -> None:
    assert not list(code_of_extensions(stack(binary(group("sm_30"))), Target()))


def test_a_file_for_other_cards_beside_one_that_fits_is_no_fault() -> None:
    plain = binary(group("sm_80"), path="pkg/_C.so")
    hopper = binary(group("sm_90a", count=6), path="pkg/_C_90a.so")
    assert codes(code_of_extensions(stack(plain, hopper), target("8.0"))) == ["extension-newer-cards"]
    assert codes(code_of_extensions(stack(hopper), target("8.0"))) == ["extension-no-code"], (
        "it is all there is"
    )
    older = binary(group("sm_75"), path="pkg/_C_75.so")
    assert codes(code_of_extensions(stack(plain, older), target("8.0"))) == ["extension-other-cards"]
    assert examine(stack(plain, hopper), target("8.0")).verdict == "runs"
    assert examine(stack(plain, older), target("8.0")).verdict == "risky"


def test_ptx_needs_a_driver_that_knows_its_language() -> None:
    text = binary(group("sm_80", "compute_80", isa="8.8"))
    assert codes(code_of_extensions(stack(text), target("9.0"))) == ["extension-jit"]
    assert codes(code_of_extensions(stack(text), target("9.0", driver="575.57.08"))) == ["extension-jit"]
    (found,) = code_of_extensions(stack(text), target("9.0", driver="535.104.05"))
    assert found.rule == "ptx-needs-driver"
    assert found.fix[0].startswith("driver >= 575.")
    mixed = binary(group("compute_80", isa="8.8"), group("sm_90"))
    assert codes(code_of_extensions(stack(mixed), target("9.0", driver="535.104.05"))) == [
        "ptx-partly-needs-driver"
    ]
    assert not list(code_of_extensions(stack(text), target("8.0", driver="470.57.02"))), (
        "machine code needs no PTX"
    )


def test_relinked_code_is_compiled_at_first_use() -> None:
    linked = binary(group("sm_80", wrapper=2), group("sm_80", "compute_90", section="reloc", judged=False))
    assert codes(code_of_extensions(stack(linked), target("10.0"))) == ["extension-jit"]


def test_vendor_libraries_pass_with_any_usable_image() -> None:
    blas = binary(
        group("sm_80"),
        group("sm_100", count=900),
        path="nvidia/cublas/lib/libcublasLt.so.12",
        owner="nvidia-cublas-cu12",
    )
    assert not list(code_of_extensions(stack(blas), target("8.0")))
    assert codes(code_of_extensions(stack(blas), target("7.5"))) == ["vendor-no-code"]
    bundled = binary(group("sm_90"), path="torch/lib/libcudnn.so.8", owner="torch")
    assert codes(code_of_extensions(stack(bundled), target("8.0"))) == ["vendor-no-code"]
    unregistered = binary(
        group("sm_52", judged=False), group("sm_80", section="data"), path="x/libcufft.so.11"
    )
    assert not list(code_of_extensions(stack(unregistered), target("9.0")))


def bitsandbytes(*versions: str) -> list[BinaryFacts]:
    return [
        binary(
            group("sm_80" if v < "128" else "sm_120"),
            path=f"bitsandbytes/libbitsandbytes_cuda{v}.so",
            owner="bitsandbytes",
        )
        for v in versions
    ]


def test_of_one_file_per_cuda_version_torchs_is_judged() -> None:
    files = bitsandbytes("118", "121", "128")
    assert [f.path for f in chosen_files(stack(*files))] == ["bitsandbytes/libbitsandbytes_cuda118.so"]
    assert not list(code_of_extensions(stack(*files), target("8.0")))
    assert not list(variants(stack(*files), target()))
    patched = Torch(version="2.1.0", cuda="12.1.105", make="release")
    assert [f.path for f in chosen_files(stack(*files, torch=patched))] == [
        "bitsandbytes/libbitsandbytes_cuda121.so"
    ]


def test_no_file_for_torchs_cuda_version_is_unknown_or_certain() -> None:
    files = bitsandbytes("121", "124")
    same_major = Torch(version="2.9.1", cuda="12.8", tag="cu128", make="release")
    assert codes(variants(stack(*files, torch=same_major), target())) == ["variant-unknown"]
    assert codes(variants(stack(*files, torch=Torch()), target())) == ["variant-unknown"]
    assert codes(variants(stack(*files), target())) == ["variant-missing"]
    assert not list(variants(stack(*files, torch=Torch(version="2.1.0", tag="cpu")), target()))


def test_files_for_other_makers_cards_are_left_alone() -> None:
    rocm = binary(
        group("sm_90"),
        path="bitsandbytes/libbitsandbytes_rocm62.so",
        elf=elf(needed=["libamdhip64.so.6"], missing=["x"]),
    )
    assert not chosen_files(stack(rocm))
    assert examine(stack(rocm), target("8.0")).files[0].containers == {"none": 1}, "listed all the same"
    assert not list(symbols_of_torch(stack(rocm), target()))


@pytest.mark.parametrize(
    ("capability", "taken"), [("8.0", "cuda118.so"), ("7.0", "cuda118_nocublaslt.so"), ("12.0", "cuda118.so")]
)
def test_of_two_files_for_one_cuda_the_card_decides(capability, taken) -> None:
    """bitsandbytes 0.41.3 has a second file for each CUDA, for cards without the faster library."""
    files = [
        binary(group("sm_75", "sm_80"), path=f"bitsandbytes/libbitsandbytes_cuda{version}.so", owner="bnb")
        for version in ("117", "118", "121")
    ]
    files += [
        binary(group("sm_60", "sm_70"), path=f"bitsandbytes/libbitsandbytes_cuda{version}_nocublaslt.so")
        for version in ("117", "118", "121")
    ]
    found = examine(stack(*files), target(capability))
    assert [file.path for file in found.files if file.loaded] == [f"bitsandbytes/libbitsandbytes_{taken}"]
    assert len(found.files) == 6, "the others are listed"
    failed = [f for f in found.findings if f.rule == "extension-no-code"]
    assert len(failed) == (capability == "12.0")
    assert not [f for f in found.findings if f.rule == "variant-missing"]


def test_what_could_not_be_read_is_unknown_and_names_the_file() -> None:
    cut = binary(path="pkg/cut.so", problems=["cut at byte 4096 of 9000"])
    (found,) = unread_files(stack(cut), target())
    assert found.rule == "file-unread"
    assert found.found == "pkg/cut.so: cut at byte 4096 of 9000"
    assert examine(stack(cut), target("8.0")).verdict == "unknown"
    narrow = binary(path="pkg/old.so", problems=["is a 32-bit ELF file"])
    assert codes(unread_files(stack(narrow), target())) == ["file-32-bit"]
    gone = ["libraries and symbols unknown: bytes 1 to 9 went by and were not kept"]
    vendor = binary(path="nvidia/cudnn/lib/libcudnn_ops.so.9", owner="nvidia-cudnn-cu12", problems=gone)
    assert codes(unread_files(stack(vendor), target())) == ["file-tables-unread"]
    assert codes(unread_files(stack(binary(problems=gone)), target())) == ["file-unread"]


def torch_files(*groups: ContainerGroup) -> BinaryFacts:
    return binary(*groups, path="torch/lib/libtorch_cuda.so", owner="torch")


def test_torchs_own_libraries_are_told_by_container() -> None:
    files = torch_files(group("sm_80", count=287), group("sm_90a", count=15))
    report = examine(stack(files), target("8.0"))
    (found,) = [f for f in report.findings if f.rule == "torch-file-partly"]
    assert "287 exact, 15 none of 302 containers" in found.found
    assert report.verdict == "runs"
    assert report.files[0].containers == {"exact": 287, "none": 15}
    assert examine(stack(files), target("12.0")).verdict == "will-fail"
    early = torch_files(group("compute_37", count=302), group("sm_70", count=398))
    assert "torch-file-mostly-none" in codes(examine(stack(early), target("8.0")).findings)


@pytest.mark.parametrize("name", ["libtorch_cuda_cu.so", "libtorch.so", "libcaffe2_gpu.so"])
def test_torchs_kernels_were_in_other_files_before(name) -> None:
    old = binary(group("sm_70"), path=f"torch/lib/{name}", owner="torch")
    assert not list(code_of_extensions(stack(old), target("8.0")))
    assert "torch-file-none" in codes(examine(stack(old), target("8.0")).findings)
    tests = binary(group("sm_50"), path="torch/test/cuda_half_test", owner="torch")
    assert not list(code_of_extensions(stack(tests), target("8.0")))


def test_missing_symbols_stop_the_import() -> None:
    names = ["_ZN3c105ErrorC1ENS_14SourceLocationESs", "_ZN2at6Tensor4sizeEv", "a", "b"]
    facts = binary(elf=elf(torch_symbols=[*names, "c"], missing=names, string_abi="old"))
    (found,) = symbols_of_torch(stack(facts), target())
    assert "4 of 5 names of torch" in found.found
    assert "c10::Error::Error, at::Tensor::size, a and 1 more" in found.found
    assert "old C++ string ABI" in found.why
    assert "torch 2.1.0+cu118" in found.fix[0]
    assert found.severity == "error"


@pytest.mark.parametrize("missing", [None, []])
def test_nothing_missing_or_not_held_is_no_finding(missing) -> None:
    facts = binary(elf=elf(torch_symbols=["a"], missing=missing))
    assert not list(symbols_of_torch(stack(facts), target()))


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZN3c105ErrorC1ENS_14SourceLocationESs", "c10::Error::Error"),
        ("_ZNK2at6Tensor4sizeEl", "at::Tensor::size"),
        ("_ZN2at4_ops5zeros4callEv", "at::_ops::zeros::call"),
        ("_ZN3c1010TensorImplD1Ev", "c10::TensorImpl::~TensorImpl"),
        ("THPVariableClass", "THPVariableClass"),
        ("_ZTIN3c105ErrorE", "_ZTIN3c105ErrorE"),
        ("_ZN99999x", "x"),
        ("", ""),
    ],
)
def test_names_for_people(mangled: str, name: str) -> None:
    assert readable(mangled) == name


@pytest.mark.parametrize(
    ("needed", "cuda", "expected"),
    [
        ("libcudart.so.11.0", "11.8", []),
        ("libcudart.so.12", "11.8", ["cuda-major"]),
        ("libcudart-80664282.so.10.2", "11.3", ["cuda-major"]),
        ("libcudart-80664282.so.10.2", "10.2", []),
        ("libcudart.so.12", "", []),
        ("libcudart_static.a", "11.8", []),
    ],
)
def test_cuda_majors_must_be_equal(needed, cuda, expected) -> None:
    facts = binary(elf=elf(needed=["libc.so.6", needed]))
    torch = Torch(version="2.1.0", cuda=cuda, make="release")
    assert codes(cuda_runtime(stack(facts, torch=torch), target())) == expected


def test_torch_in_two_libraries_is_another_generation() -> None:
    facts = binary(elf=elf(needed=["libtorch_cuda_cu.so", "libcudart.so.11.0"]))
    assert codes(cuda_runtime(stack(facts), target())) == ["torch-generation"]
    old = Torch(version="1.13.1", cuda="11.7", make="release")
    assert not list(cuda_runtime(stack(facts, torch=old), target()))
    split = binary(path="torch/lib/libtorch_cuda_cu.so", owner="torch")
    assert not list(cuda_runtime(stack(facts, split), target())), "the files at hand come before the version"
    whole = binary(path="torch/lib/libtorch_cuda.so", owner="torch")
    assert codes(cuda_runtime(stack(facts, whole, torch=old), target())) == ["torch-generation"]


@pytest.mark.parametrize(
    ("asks", "glibc", "expected"),
    [
        ({"glibc": "2.32"}, "2.31", ["glibc-floor"]),
        ({"glibc": "2.9"}, "2.31", []),
        ({"glibc": "2.31"}, "2.31", []),
        ({"glibc": "2.32"}, "", []),
        ({"glibcxx": "3.4.32"}, "2.36", ["libstdcxx-floor"]),
        ({"glibcxx": "3.4.30"}, "2.36", []),
        ({"glibcxx": "3.4.32"}, "2.99", []),
        ({"glibc": "2.38", "glibcxx": "3.4.32"}, "2.36", ["glibc-floor", "libstdcxx-floor"]),
    ],
)
def test_floors_of_the_c_libraries(asks, glibc, expected) -> None:
    facts = binary(elf=elf(**asks))
    assert codes(floors(stack(facts, glibc=glibc), target())) == expected


def test_a_floor_names_a_base_that_reaches_it() -> None:
    (found,) = floors(stack(binary(elf=elf(glibc="2.34")), glibc="2.31"), target())
    assert found.fix[0] == "a base image with glibc >= 2.34, such as Rocky Linux 9"
