"""Packages that bring one file for each CUDA version, and other rules that public reports asked for."""

import pytest

from repro.check import examine, read_question, stack_and_target


def ask(torch, index=None, **more):
    """(verdict, {rule: finding}) for a question."""
    report = examine(*stack_and_target(read_question({"torch": {"spec": torch, "index": index}, **more})))
    return report.verdict, {found.rule: found for found in report.findings}


def bitsandbytes(version, torch, gpu):
    return ask(torch, gpu=gpu, extras=[{"name": "bitsandbytes", "version": version}])


FILES = [
    ("0.42.0", "torch==2.5.1+cu124", "H200", "will-fail", "extra-no-variant"),
    ("0.42.0", "torch==2.1.2+cu121", "H100 PCIe", "runs", None),
    ("0.44.1", "torch==2.4.1+cu118", "H100 PCIe", "runs-after-jit", "extra-jit"),
    ("0.45.0", "torch==2.7.0+cu128", "RTX 5090", "will-fail", "extra-no-variant"),
    ("0.45.5", "torch==2.7.0+cu128", "RTX 5090", "runs", None),
    ("0.47.0", "torch==2.9.0+cu130", "A100", "will-fail", "extra-no-variant"),
    ("0.50.2", "torch==2.8.0+cu129", "RTX 5090", "runs", None),
    ("0.37.2", "torch==1.13.1+cu117", "H100 PCIe", "will-fail", "extra-no-code"),
    ("0.43.1", "torch==2.5.1+cu124", "A100", "runs", None),
]


@pytest.mark.parametrize(("version", "torch", "gpu", "verdict", "rule"), FILES)
def test_the_file_for_the_cuda_of_torch(version, torch, gpu, verdict, rule):
    told, findings = bitsandbytes(version, torch, gpu)
    assert told == verdict, findings
    assert rule is None or rule in findings


def test_a_release_with_the_file_is_named():
    _, findings = bitsandbytes("0.42.0", "torch==2.5.1+cu124", "H200")
    assert findings["extra-no-variant"].fix[0] == "bitsandbytes==0.43.1 or newer"


CONDA = [
    ("pytorch=1.9.0 cudatoolkit=11.3", "conda:pytorch", "will-fail"),
    ("pytorch=1.9.0 cudatoolkit=11.1", "conda:pytorch", "runs"),
    ("pytorch=2.0.1 pytorch-cuda=12.1", "conda:pytorch,nvidia", "will-fail"),
    ("pytorch=1.9.0 cudatoolkit=11.2", "conda:pytorch,conda-forge", "unknown"),
]


@pytest.mark.parametrize(("torch", "index", "verdict"), CONDA)
def test_a_conda_package_that_was_not_made(torch, index, verdict):
    told, findings = ask(torch, index, gpu="RTX 3090")
    assert told == verdict, findings
    assert ("conda-build-not-made" in findings) == (verdict == "will-fail")


ARM = {"system": "linux", "machine": "aarch64"}
BOARDS = [
    ("pytorch 2.5", "conda:conda-forge", "Jetson AGX Orin", "unknown"),
    ("2.5.0a0+872d972e41.nv24.08", "JetPack wheel", "Jetson Orin Nano", "runs"),
    ("torch 2.7 (vendor container nvcr.io, CUDA 12.8)", None, "GH200", "runs"),
    ("torch 2.1 (vendor container nvcr.io, CUDA 12.2)", None, "GB200", "unknown"),
    ("torch==2.10.0", "pytorch-cu128", "Jetson AGX Orin", "unknown"),
    ("torch nightly", "pytorch-nightly-cu128", "GH200", "runs"),
]


@pytest.mark.parametrize(("torch", "index", "gpu", "verdict"), BOARDS)
def test_aarch64_is_never_passed_in_silence(torch, index, gpu, verdict):
    told, findings = ask(torch, index, gpu=gpu, platform=ARM)
    assert told == verdict, findings
    assert {"torch-code-inferred", "torch-build-unknown"} & set(findings)


def test_a_board_is_sent_to_the_wheels_of_its_maker():
    _, findings = ask("torch==2.1.0", "default", gpu="Jetson AGX Orin", platform=ARM)
    assert "JetPack" in findings["cpu-build-on-aarch64"].fix[0]


def test_a_list_printed_on_aarch64_is_not_held_against_wheels_for_x86():
    _, findings = ask("torch==2.9.1+cu130", gpu="GB10", platform=ARM, arch_list=["sm_90", "sm_120"])
    assert "torch-list-differs" not in findings


def test_another_processor_is_not_guessed():
    assert ask("torch==1.12.0", gpu="V100", platform={"machine": "ppc64le"})[0] == "unknown"


def test_the_projects_own_image_is_no_vendors_build():
    wheel = "flash_attn-2.5.9+cu122torch2.3cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
    extras = [{"name": "flash-attn", "version": "2.5.9", "how": wheel}]
    torch = "torch (docker image pytorch/pytorch:2.3.1-cuda12.1-cudnn8-devel)"
    assert ask(torch, gpu="A100", python="3.10", extras=extras)[0] == "runs"


def test_a_fix_for_an_old_python_says_which_one_it_needs():
    _, findings = ask("torch==1.12.1+cu116", gpu="RTX 5090", python="3.7")
    assert findings["torch-no-code"].fix[0].startswith("python 3.9 and lock torch==2.7.0+cu128")


def test_a_fix_for_the_default_build_has_no_tag():
    """The default index has no names with a tag."""
    _, findings = ask("torch 2.8.0+cpu", gpu="RTX 4080")
    assert findings["cpu-build"].fix == ["lock torch==2.8.0 (the default index, CUDA 12.8)"]


BESIDE = [
    ("torch==2.0.1+cu118", {"name": "torchvision", "version": "0.15.2+cpu"}, "partner-cuda-differs"),
    (
        "torch 2.5.0a0 (vendor container)",
        {"name": "torchvision", "version": "0.20.0", "how": "pip wheel"},
        "extra-on-vendor-torch",
    ),
    ("torch 2.5.0a0 (vendor container)", {"name": "flash-attn", "how": "ships with the container"}, None),
    ("torch 2.5.0a0 (vendor container)", {"name": "torchvision", "version": "0.20.0a0"}, None),
]


@pytest.mark.parametrize(("torch", "extra", "rule"), BESIDE)
def test_a_package_beside_a_torch_of_another_maker(torch, extra, rule):
    told, findings = ask(torch, gpu="A100", extras=[extra])
    assert (told == "runs") == (rule is None), findings
    assert rule is None or rule in findings


@pytest.mark.parametrize("gpu", ["A100-SXM4-40GB MIG 1g.5gb", "GRID A100D-40C"])
def test_a_slice_is_not_given_the_figures_of_the_whole_card(gpu):
    report = examine(*stack_and_target(read_question({"torch": "torch==2.1.0+cu121", "gpu": gpu})))
    told = [found.found for found in report.findings if found.where == "cuda-rng-launch-geometry"]
    assert told
    assert "this starts above" not in told[0]


PATHS = [
    ("LD_LIBRARY_PATH has CUDA 11.3", "unset LD_LIBRARY_PATH"),
    (
        "CUDA 11.4 found first through ld.so.conf",
        "take the folder out of /etc/ld.so.conf.d, then run ldconfig",
    ),
    ("module load cuda/12.1", "module unload the CUDA module"),
]


@pytest.mark.parametrize(("detail", "fix"), PATHS)
def test_the_path_that_is_meant_is_mended(detail, fix):
    _, findings = ask("torch==1.13.1", "default", platform={"detail": detail})
    assert findings["library-path-shadows"].fix[0] == fix
