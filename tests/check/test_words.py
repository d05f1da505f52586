"""Words as people write them: a torch, a machine, a driver, a list of targets, how a package was built."""

import pytest

from repro.check import examine, read_question, stack_and_target, torch_from_words
from repro.check.words.compiler import host_compiler_in
from repro.check.words.extra import extra_from_words
from repro.check.words.extra_targets import targets_of
from repro.check.words.surroundings import (
    capability_in,
    driver_cuda_in,
    driver_in,
    glibc_in,
    machine_in,
    python_minor,
    system_in,
    targets_in,
)
from repro.model.check import Package

TORCH = [
    ("pytorch1.9.0 cu11.1", "", "release", "1.9.0", "cu111", "11.1"),
    ("torch==2.1.0+cu12.1", "", "release", "2.1.0", "cu121", "12.1"),
    ("torch2.1.0cu118", "", "release", "2.1.0", "cu118", "11.8"),
    ("torch 2.1.0 cuda121", "", "release", "2.1.0", "cu121", "12.1"),
    ("TORCH==2.1.0+CU121", "", "release", "2.1.0", "cu121", "12.1"),
    ("pytorch 1.8 + cuda 11.1", "", "release", "1.8.0", "cu111", "11.1"),
    ("torch-1.10.0+cu113-cp39-cp39-linux_x86_64.whl", "", "release", "1.10.0", "cu113", "11.3"),
    ("torch==2.0.1", "https://download.pytorch.org/whl/cu118", "release", "2.0.1", "cu118", "11.8"),
    ("torch==1.13.1+cu117.with.pypi.cudnn", "", "release", "1.13.1", "cu117", "11.7"),
    ("torch 2.0.1 cpu", "", "release", "2.0.1", "cpu", ""),
    ("torch (cpu only)", "", "", "", "cpu", ""),
    ("pytorch 2.1.0 cpu_generic_py310", "conda:conda-forge", "vendor", "2.1.0", "cpu", ""),
    ("pytorch=2.1.0=cuda118_py310h", "conda:conda-forge", "vendor", "2.1.0", "", "11.8"),
    ("pytorch 2.1.0 cuda120py310h", "conda:conda-forge", "vendor", "2.1.0", "", "12.0"),
    ("pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel", "", "conda", "2.1.0", "", "12.1"),
    ("torch 1.4 (image pytorch/pytorch:1.4-cuda10.1-cudnn7-devel)", "", "conda", "1.4.0", "", "10.1"),
    ("pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime", "", "release", "2.7.1", "cu128", "12.8"),
    ("torch 2.1.2+cu121 in container nvidia/cuda:12.1.1-devel", "", "release", "2.1.2", "cu121", "12.1"),
    ("nvcr.io/nvidia/pytorch:23.10-py3", "", "vendor", "", "", ""),
]


@pytest.mark.parametrize(("spec", "index", "make", "version", "tag", "cuda"), TORCH)
def test_a_torch(spec, index, make, version, tag, cuda):
    torch = torch_from_words(spec, index)
    assert (torch.make, torch.version, torch.tag, torch.cuda) == (make, version, tag, cuda)


SURROUNDINGS = [
    (driver_in, "535.54.03 (CUDA 12.2)", "535.54.03"),
    (driver_in, "Driver Version: 470.86", "470.86"),
    (driver_in, "R535 branch", "535"),
    (driver_in, "525.x", "525"),
    (driver_in, "535.183.01-0ubuntu1", "535.183.01-0ubuntu1"),
    (driver_in, "N/A", ""),
    (driver_in, "CUDA 12.2", ""),
    (driver_in, "12.2", "12.2"),
    (driver_cuda_in, "CUDA 12.2", "12.2"),
    (driver_cuda_in, "12.2.0", "12.2"),
    (driver_cuda_in, "found version 11040", "11.4"),
    (driver_cuda_in, "unknown", ""),
    (capability_in, "sm_80", "8.0"),
    (capability_in, "(8, 6)", "8.6"),
    (capability_in, "120", "12.0"),
    (capability_in, "8", "8.0"),
    (capability_in, "9.0 (Hopper)", "9.0"),
    (capability_in, "new", "new"),
    (python_minor, "cp310-cp310", "3.10"),
    (python_minor, "py39", "3.9"),
    (python_minor, "3.1", "3.10"),
    (python_minor, ">=3.8,<3.11", ""),
    (system_in, "Ubuntu 22.04", "linux"),
    (system_in, "WSL2", "linux"),
    (system_in, "darwin", "darwin"),
    (system_in, "Windows 11", "windows"),
    (machine_in, "AMD64", "x86_64"),
    (glibc_in, "glibc 2.31", "2.31"),
    (targets_in, "8.0;8.6+PTX", ["sm_80", "sm_86", "compute_86"]),
    (targets_in, ["SM_80", "sm90a"], ["sm_80", "sm_90a"]),
    (targets_in, "gfx90a", []),
]


@pytest.mark.parametrize(("read", "text", "meant"), SURROUNDINGS)
def test_a_machine(read, text, meant):
    assert read(text) == meant


def test_the_words_about_a_driver_may_say_its_cuda():
    assert driver_cuda_in("", "535.54.03 (CUDA 12.2)") == "12.2"


HOSTS = [
    ("setup.py, nvcc 10.2, gcc 9", "9"),
    ("gcc (GCC) 11.2.0, nvcc 10.1", "11.2"),
    ("g++-12 and CUDA 12.1", "12"),
    ("gcc (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0", "9.4"),
    ("GCC version: 13.3.0", "13.3"),
    ("gcc 7 beside gcc 11", ""),
    ("compiled, nvcc 11.8", ""),
]


@pytest.mark.parametrize(("words", "gcc"), HOSTS)
def test_the_compiler_behind_nvcc(words, gcc):
    assert host_compiler_in(words) == gcc


def test_a_file_that_asks_for_a_runtime_is_for_its_cuda():
    asked = {"wheel, needs libcudart.so.11.0": "+cu11", "ImportError: libcudart.so.10.1": "+cu101"}
    for how, made in asked.items():
        assert extra_from_words(Package(name="x", version="", how=how)).for_torch == made


def test_cuda_packages_of_conda_are_named_without_a_point():
    assert torch_from_words("pytorch=0.4.1 cuda92", "conda:pytorch").cuda == "9.2"
    assert torch_from_words("torch (CUDA 12 build)").cuda == "12"


BUILDS = [
    ("Cuda compilation tools, release 11.5, V11.5.119", "11.5", ""),
    ("setup.py install with CUDA 12.1 toolkit", "12.1", ""),
    ("operators compiled with CUDA 11.1", "11.1", ""),
    ("CUDA_HOME=/usr/local/cuda-11.3", "11.3", ""),
    ("JIT, Installed CUDA version 12.2", "12.2", ""),
    ("nvcc from apt is CUDA 9.1", "9.1", ""),
    ("prebuilt wheel for CUDA 12.1", "", ""),
    ("wheels/py38_cu113_pyt1110/download.html", "", "1.11.0+cu113"),
    ("wheel natten-0.17.3+torch240cu121", "", "2.4.0+cu121"),
    ("flash_attn-2.7.4+pt270cu126cxx11abiTRUE-cp312-cp312-linux_x86_64.whl", "", "2.7.0+cu126"),
    ("mamba_ssm-2.2.5+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl", "", "2.6+cu12"),
    ("cu116/torch1.13.0", "", "1.13.0+cu116"),
]


@pytest.mark.parametrize(("how", "nvcc", "torch"), BUILDS)
def test_how_a_package_was_built(how, nvcc, torch):
    extra = extra_from_words(Package(name="spam-ops", how=how))
    assert (extra.nvcc, extra.for_torch) == (nvcc, torch)


TARGETS = [
    ("built in the image, NVTE_CUDA_ARCHS=100", ("sm_100",)),
    ("cmake, CMAKE_CUDA_ARCHITECTURES=80;86-virtual", ("sm_80", "compute_86")),
    ("make, -gencode for 7.0, 7.5 and 8.0", ("sm_70", "sm_75", "sm_80")),
    ("wheel, Volta kernels only", ("sm_70", "sm_72")),
]


@pytest.mark.parametrize(("how", "named"), TARGETS)
def test_targets_of_a_package(how, named):
    assert targets_of(extra_from_words(Package(name="spam-ops", how=how))).named == named


CODE = [
    ("wheel, needs compute capability 8.0 or newer", "H100 PCIe", "runs"),
    ("wheel, supports sm_80+", "T4", "will-fail"),
    ("compiled on the same machine", "H100 PCIe", "runs"),
    ("compiled on RTX 2080 Ti", "A100", "risky"),
    ("compiled, nvcc 11.0, -gencode=arch=compute_86,code=sm_86", "RTX 3090", "will-fail"),
]


@pytest.mark.parametrize(("how", "gpu", "verdict"), CODE)
def test_code_of_a_package(how, gpu, verdict):
    question = {
        "torch": {"spec": "torch==2.1.0+cu118", "index": None},
        "gpu": gpu,
        "extras": [{"name": "spam-ops", "how": how}],
    }
    if "nvcc" in how:
        question["torch"]["spec"] = "torch==1.7.1+cu110"
    assert examine(*stack_and_target(read_question(question))).verdict == verdict


PRECISION = [
    ("bf16 (autocast)", "T4", "risky"),
    ("torch.float8_e4m3fn", "A100", "will-fail"),
    ("nf4", "T4", "runs"),
    ("int8", "V100", "runs"),
    ("fp16 mixed precision", "T4", "runs"),
    ("posit", "T4", "unknown"),
]


@pytest.mark.parametrize(("precision", "gpu", "verdict"), PRECISION)
def test_a_precision(precision, gpu, verdict):
    question = {"torch": {"spec": "torch==2.1.0", "index": "default"}, "gpu": gpu, "precision": precision}
    assert examine(*stack_and_target(read_question(question))).verdict == verdict


@pytest.mark.parametrize(
    ("gpu", "verdict"), [("A100", "will-fail"), ("AMD Instinct MI250X", "unknown")], ids=["nvidia", "amd"]
)
def test_a_torch_for_another_maker(gpu, verdict):
    """It cannot use an NVIDIA card, and of the maker's own cards nothing is said."""
    question = {"torch": {"spec": "torch==2.1.0+rocm5.6", "index": None}, "gpu": gpu, "arch_list": ["gfx90a"]}
    assert examine(*stack_and_target(read_question(question))).verdict == verdict
