"""GPU code in source form held against a stack and a card."""

from pathlib import Path

import msgspec
import pytest

from repro.check.finding import rule_rows
from repro.check.known.table import torch_from_table
from repro.check.rules import nvcc, runtime_kernels, sources, written
from repro.check.rules.order import RULES
from repro.check.rules.toolchain import has_compiler, nvcc_of
from repro.model.check import Extra, Finding, SourceFact, Stack, Target, Torch
from repro.scan.source.sources import file_facts, scan_sources
from repro.tables.read import table
from repro.tables.toolkits import toolkit
from repro.tables.torchbuilds import releases

DEPS = Path(__file__).parent.parent / "cases" / "deps"
ROOMS = (nvcc, runtime_kernels, sources, written)
MINE = [rule for rule in RULES if rule.__module__ in {room.__name__ for room in ROOMS}]
DEVEL = "base image pytorch/pytorch:1.9.0-cuda11.1-cudnn8-devel"
A100 = Target(asked="a100", gpu="a100-80gb", name="NVIDIA A100", capability="8.0")
SET = msgspec.structs.replace


def card(capability: str) -> Target:
    return Target(asked=capability, capability=capability)


def stack(*files: tuple[str, str], **more: object) -> Stack:
    facts = [fact for name, text in files for fact in file_facts(name, text)]
    return SET(Stack(origin="project", sources=facts), **more)


def judged(given: Stack, target: Target = A100) -> dict[str, Finding]:
    return {found.rule: found for rule in MINE for found in rule(given, target)}


def test_the_case_of_an_extension_in_a_subfolder() -> None:
    """`expected.json` asks for the codes and places, the target, a devel base, and the list of targets."""
    case = DEPS / "cuda_extension_subfolder"
    given = Stack(origin="project", sources=scan_sources(case / "project"))
    found = judged(SET(given, torch=torch_from_table("1.9.0", "default")))
    asked = msgspec.json.decode((case / "expected.json").read_bytes())["must_detect"]
    for row in asked:
        if row["code"] != "arch":  # of torch itself
            assert found[row["code"]].where == row["where"]
    hard = found["hard-coded-arch"]
    assert (hard.severity, rule_rows()["hard-coded-arch"].outcome) == ("error", "will-fail")
    assert "sm_70 only, no PTX" in hard.found
    assert hard.needed == "sm_80 for NVIDIA A100"
    extension = found["cuda-extension"]
    assert extension.needed.startswith("nvcc of CUDA 10 (torch is built with 10.2)")
    assert any("devel" in fix for fix in extension.fix)
    assert any("TORCH_CUDA_ARCH_LIST=" in fix for fix in extension.fix)


SETUP = """from torch.utils.cpp_extension import CUDAExtension
CUDAExtension("knn", ["k.cu"], extra_compile_args={"nvcc": [FLAGS]})
"""


@pytest.mark.parametrize(
    ("flags", "capability", "rule"),
    [
        ('"-gencode=arch=compute_70,code=sm_70"', "7.0", ""),
        ('"-gencode=arch=compute_70,code=sm_70"', "7.5", ""),
        ('"-gencode=arch=compute_70,code=sm_70"', "8.0", "hard-coded-arch"),
        ('"-gencode=arch=compute_86,code=sm_86"', "8.0", "hard-coded-arch"),
        ('"-gencode=arch=compute_86,code=sm_86"', "8.9", ""),
        ('"-arch=sm_70"', "8.0", "hard-coded-arch-jit"),
        ('"-gencode=arch=compute_90a,code=sm_90a"', "10.0", "hard-coded-arch"),
        ('"-O3"', "9.0", ""),
    ],
)
def test_written_targets_are_held_against_the_card(flags: str, capability: str, rule: str) -> None:
    given = stack(("setup.py", SETUP.replace("FLAGS", flags)), torch=torch_from_table("1.13.1", "default"))
    found = [f.rule for f in written.written_targets(given, card(capability))]
    assert found == ([rule] if rule else [])


def test_the_edit_is_literal() -> None:
    flags = '"-gencode=arch=compute_70,code=sm_70"'
    given = stack(("setup.py", SETUP.replace("FLAGS", flags)), torch=torch_from_table("1.13.1", "default"))
    (found,) = written.written_targets(given, A100)
    assert found.fix == [
        "setup.py:2: add -gencode=arch=compute_80,code=sm_80",
        "or take the flags out and set TORCH_CUDA_ARCH_LIST=8.0",
    ]
    (hopper,) = written.written_targets(given, card("9.0"))
    newer = "with CUDA >= 11.8 and a torch that is built with it"
    assert hopper.fix == [
        f"setup.py:2: add -gencode=arch=compute_90,code=sm_90, {newer}",
        "or, with CUDA 11.7: setup.py:2: add -gencode=arch=compute_86,code=compute_86",
        "or, with CUDA 11.7: take the flags out and set TORCH_CUDA_ARCH_LIST=8.6+PTX",
    ]


def test_a_list_in_a_script_is_a_warning_with_its_own_edit() -> None:
    given = stack(
        ("build.sh", "export TORCH_CUDA_ARCH_LIST=7.0\n"),
        ("CMakeLists.txt", "set(CMAKE_CUDA_ARCHITECTURES 70)\n"),
    )
    found = list(written.written_targets(given, SET(A100, capability="9.0")))
    assert [f.rule for f in found] == ["hard-coded-arch-script", "hard-coded-arch-jit"]
    assert found[0].fix == ["build.sh:1: add 9.0 to TORCH_CUDA_ARCH_LIST"]
    assert found[1].fix == ["CMakeLists.txt:1: add 90 to CMAKE_CUDA_ARCHITECTURES"]
    assert [f.severity for f in found] == ["warning", "note"]


def test_an_extension_that_is_locked_as_a_wheel_needs_no_compiler() -> None:
    given = stack(("setup.py", SETUP.replace("FLAGS", "")))
    assert "cuda-extension" in judged(given)
    assert "cuda-extension" not in judged(SET(given, packages={"knn": "1.0"}))


def test_a_devel_image_compiles() -> None:
    given = stack(
        ("setup.py", SETUP.replace("FLAGS", "")), detail=DEVEL, torch=torch_from_table("1.9.0+cu111")
    )
    assert nvcc_of(given) == "11.1"
    assert set(judged(given)) == {"build-needs-torch"}
    assert judged(given, card("9.0"))["nvcc-target"].fix == [
        "TORCH_CUDA_ARCH_LIST=8.6+PTX",
        "CUDA toolkit >= 11.8",
    ]
    other = SET(given, detail="image nvidia/cuda:10.2-devel")
    assert judged(other)["nvcc-major"].where == "setup.py:2"


@pytest.mark.parametrize(
    ("detail", "packages", "version", "compiler"),
    [
        ("python:3.10-slim-bookworm", [], None, False),
        ("python:3.10-slim-bookworm", ["gcc-12"], None, True),
        ("", ["libgcc-s1"], None, False),
        ("", ["nvidia-cuda-toolkit"], "", True),
        ("nvidia/cuda:11.8.0-devel-ubuntu22.04", [], "11.8", True),
        ("nvidia/cuda:11.8.0-runtime-ubuntu22.04", [], None, False),
        ("a devel image", [], "", True),
    ],
)
def test_what_is_said_of_the_image(
    detail: str, packages: list[str], version: str | None, compiler: bool
) -> None:
    given = stack(detail=detail, system_packages=packages)
    assert nvcc_of(given) == version
    assert has_compiler(given) == compiler


def test_compiling_at_first_use_needs_nvcc_where_it_runs() -> None:
    given = stack(("a.py", "from torch.utils.cpp_extension import load\nload('x', [])\nload('y', [])\n"))
    found = judged(given)["jit-extension"]
    assert found.found.startswith("a.py:2 and 1 more place:")
    assert "image that runs" in found.needed
    ready = judged(SET(given, detail=DEVEL))
    assert set(ready) == {"jit-extension-cache"}
    assert rule_rows()["jit-extension-cache"].outcome == "runs-after-jit"


def test_loose_kernels_are_noted_once() -> None:
    given = stack(("ops/a.cu", ""), ("ops/b.cuh", ""), ("other/setup.py", SETUP.replace("FLAGS", "")))
    assert judged(given)["cuda-source"].found == "CUDA code at ops/a.cu:1 and 1 more place"
    built = stack(("ops/src/a.cu", ""), ("ops/setup.py", SETUP.replace("FLAGS", "")))
    assert "cuda-source" not in judged(built)


def test_leftovers_are_risky() -> None:
    given = SET(stack(), sources=scan_sources([("ops/build/lib.linux-x86_64-3.8/k.so", "")]))
    found = judged(given)["stale-build"]
    assert found.where == "ops/build/lib.linux-x86_64-3.8"
    assert rule_rows()["stale-build"].outcome == "risky"


COMPILED = ("a.py", "import torch\ntorch.compile(f)\n")


@pytest.mark.parametrize(
    ("torch", "capability", "rules"),
    [
        ("2.9.1", "8.0", set()),
        ("2.9.1", "9.0", set()),
        ("2.9.1", "12.0", set()),
        ("2.9.1", "10.3", {"triton-target"}),
        ("2.5.1", "10.0", {"triton-target"}),
        ("2.7.1", "12.0", set()),
        ("2.7.1", "6.1", {"triton-old-card"}),
        ("1.13.1", "8.0", {"torch-compile-absent"}),
        ("2.15.0", "8.0", {"triton-unknown"}),
    ],
)
def test_the_assembler_in_triton_decides(torch: str, capability: str, rules: set[str]) -> None:
    given = stack(COMPILED, torch=torch_from_table(torch, "default"), system_packages=["gcc"])
    assert set(judged(given, card(capability))) == rules


def test_the_locked_triton_goes_before_the_pin_of_torch() -> None:
    given = stack(COMPILED, torch=torch_from_table("2.9.1", "default"), packages={"triton": "3.1.0"})
    assert runtime_kernels.triton_of(given) == "3.1.0"
    assert runtime_kernels.triton_of(SET(given, packages={})) == "3.5.1"
    assert "triton-target" in judged(given, card("12.0"))


def test_the_launcher_needs_a_compiler_but_no_cpu_build_does() -> None:
    given = stack(COMPILED, torch=torch_from_table("2.9.1", "default"))
    assert judged(given)["triton-needs-compiler"].fix == [
        'repro.toml, below [dependencies]: system = ["gcc", "libc6-dev"]'
    ]
    assert judged(SET(given, torch=Torch(version="2.9.1", tag="cpu"))) == {}


@pytest.mark.parametrize(
    ("text", "packages", "rule"),
    [
        ("import cupy\ncupy.RawKernel('', '')", {}, "runtime-compiler"),
        ("import cupy\ncupy.RawKernel('', '')", {"nvidia-cuda-nvrtc-cu12": "12.4"}, "runtime-compiled"),
        ("from numba import cuda\n@cuda.jit\ndef f(): pass", {}, "runtime-compiler"),
        (
            "from pycuda.compiler import SourceModule\nSourceModule('')",
            {"nvidia-cuda-nvrtc-cu12": "12.4"},
            "runtime-compiler",
        ),
    ],
)
def test_compilers_of_other_makers(text: str, packages: dict[str, str], rule: str) -> None:
    given = stack(("a.py", text), packages=packages)
    assert set(judged(given)) == {rule}
    assert set(judged(SET(given, detail=DEVEL))) == {"runtime-compiled"}


def described(
    how: str = "", *, nvcc: str = "", archs: list[str] | None = None, built: str = "source"
) -> Stack:
    extra = Extra(name="ops", how=how, built=built, nvcc=nvcc, archs=archs)  # type: ignore[arg-type]
    return Stack(origin="words", extras=[extra])


@pytest.mark.parametrize(
    ("compiler", "capability", "fix"),
    [
        ("11.3", "8.9", ["TORCH_CUDA_ARCH_LIST=8.6", "CUDA toolkit >= 11.8"]),
        ("11.0", "8.6", ["TORCH_CUDA_ARCH_LIST=8.0", "CUDA toolkit >= 11.1"]),
        ("10.1", "8.6", ["TORCH_CUDA_ARCH_LIST=7.5+PTX", "CUDA toolkit >= 11.1"]),
        ("8.0", "7.0", ["CUDA toolkit >= 9.0"]),
        ("13.0", "7.0", ["CUDA toolkit 9.0 or a later one of before CUDA 13"]),
        ("11.8", "9.0", None),
        ("11.3", "7.0", None),
    ],
)
def test_nvcc_knows_the_card_or_not(compiler: str, capability: str, fix: list[str] | None) -> None:
    found = judged(described(nvcc=compiler), card(capability))
    assert (found["nvcc-target"].fix if "nvcc-target" in found else None) == fix


def test_a_capped_list_or_a_wheel_is_judged_elsewhere() -> None:
    assert judged(described(nvcc="11.3", archs=["sm_86"]), card("8.9")) == {}
    assert judged(described(nvcc="11.3", built="wheel"), card("8.9")) == {}


@pytest.mark.parametrize(
    ("compiler", "torch", "rule"),
    [
        ("12.1", "2.0.0+cu117", "nvcc-major"),
        ("11.3", "2.0.0+cu118", "nvcc-minor"),
        ("11.8", "2.0.0+cu118", ""),
        ("11.8.89", "2.0.0+cu118", ""),
        ("10.2", "1.7.1+cu110", "nvcc-major"),
    ],
)
def test_nvcc_is_held_against_torch(compiler: str, torch: str, rule: str) -> None:
    found = judged(SET(described(nvcc=compiler), torch=torch_from_table(torch)), Target())
    assert set(found) == ({rule} if rule else set())
    if torch.startswith("1.7"):
        assert "second CUDA runtime" in found[rule].why


def test_an_unknown_torch_is_not_held_against_nvcc() -> None:
    assert judged(described(nvcc="12.1"), Target()) == {}


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("compiled in docker build, TORCH_CUDA_ARCH_LIST unset", True),
        ("compiled while the image is built: no GPU visible", True),
        ("built from source in the Dockerfile", True),
        ("compiled on the target machine", False),
    ],
)
def test_a_build_without_a_card_is_risky(how: str, found: bool) -> None:
    given = SET(described(how), torch=torch_from_table("1.10.0+cu113"))
    assert ("build-without-gpu" in judged(given)) == found
    assert "build-without-gpu" not in judged(described(how, archs=["sm_80"]))
    if found:
        assert judged(given)["build-without-gpu"].fix[0] == "ENV TORCH_CUDA_ARCH_LIST=8.0+PTX"


def test_every_triton_of_the_releases_is_in_the_table_or_said_to_be_unknown() -> None:
    known = {row["version"] for row in table("triton_ptxas")["triton"]}
    pinned = {
        pin.partition("==")[2]
        for release in releases().values()
        for build in release.builds
        for pin in build.requires
        if pin.startswith("triton==")
    }
    assert pinned <= known
    for row in table("triton_ptxas")["triton"]:
        assert all(toolkit(row[key]) for key in ("ptxas", "newer") if key in row)


def test_rules_take_any_fact() -> None:
    kinds = {row["kind"] for row in table("source_marks")["name"]}
    kinds |= {"cuda-source", "hard-coded-arch", "sdist", "build-folder", "build-needs-torch", "news"}
    given = Stack(origin="project", sources=[SourceFact(kind=k, where="a:1", text="") for k in sorted(kinds)])
    assert judged(given, Target())
    assert judged(given, card("99.9"))
