"""Cousins of the casebook: other versions, cards, drivers and wordings, each with its answer and its rule."""

import pytest

from repro.check import examine, read_question, stack_and_target

A100, H100, RTX3090, T4, V100, P100 = "a100", "NVIDIA H100 PCIe", "rtx 3090", "Tesla T4", "Tesla V100", "p100"


def ask(torch=None, gpu=None, index="default", **more):
    """(verdict, {rule: finding}) for a question."""
    question = {"torch": {"spec": torch, "index": index}, "gpu": gpu, **more}
    report = examine(*stack_and_target(read_question(question)))
    return report.verdict, {found.rule: found for found in report.findings}


KERNELS = [
    ("torch==1.9.0", RTX3090, "default", "will-fail", "torch-no-code"),
    ("torch==1.9.0+cu111", A100, None, "runs", "torch-code-exact"),
    ("torch==1.5.1", A100, "default", "risky", "torch-libraries-before-card"),
    ("torch==1.8.0", T4, "default", "runs", "torch-code-compatible"),
    ("torch==1.13.1", "L40S", "default", "runs", "torch-code-compatible"),
    ("torch==2.0.1", H100, "default", "will-fail", "torch-no-code"),
    ("torch==2.0.1", H100, "pytorch-cu118", "runs", "torch-code-exact"),
    ("torch==2.0.1", H100, None, "unknown", "torch-undecided"),
    ("torch==2.6.0", "B200", "default", "will-fail", "torch-no-code"),
    ("torch==2.9.1", P100, "default", "will-fail", "torch-no-code"),
    ("torch==2.9.1", P100, "pytorch-cu126", "runs", "torch-code-exact"),
    ("torch==2.8.0+cu126", "GTX 1080 Ti", None, "runs", "torch-code-compatible"),
    ("torch==2.7.1+cu128", V100, None, "will-fail", "torch-no-code"),
    ("torch==1.2.0", RTX3090, "default", "risky", "torch-code-from-ptx"),
    ("torch==1.3.1", V100, "default", "runs", "torch-code-exact"),
    (
        "torch (nightly, CUDA 12.6 build)",
        "rtx 5090",
        "pytorch-nightly-cu126",
        "will-fail",
        "torch-no-code-inferred",
    ),
    ("torch==2.7.0.dev20250310+cu128", "rtx 5090", None, "runs", "torch-code-inferred"),
    ("torch==2.8.0.dev20250601+cu128", V100, None, "unknown", "torch-undecided"),
    ("pytorch=1.7.1 cudatoolkit=10.2", RTX3090, "conda:pytorch", "risky", "torch-code-from-ptx"),
    ("pytorch=1.7.1 cudatoolkit=11.0", RTX3090, "conda:pytorch", "runs", "torch-code-compatible"),
    ("pytorch==1.13.1 pytorch-cuda=11.7", H100, "conda:pytorch", "risky", "torch-code-from-ptx"),
    ("pytorch=2.1.0 pytorch-cuda=12.1", H100, "conda:pytorch", "runs", "torch-code-exact"),
    ("pytorch=2.1.0=py3.10_cuda11.8_cudnn8.7.0_0", H100, "conda:pytorch", "runs", "torch-code-exact"),
    ("pytorch=1.12.1", A100, "conda:conda-forge", "unknown", "torch-undecided"),
    ("pytorch=2.4.0", A100, "conda:conda-forge", "runs", "torch-code-inferred"),
    ("torch 2.1 (vendor container, CUDA 12.2)", H100, None, "runs", "torch-code-inferred"),
    ("torch 1.14 (vendor container, CUDA 11.8)", H100, None, "runs", "torch-code-inferred"),
    ("torch==1.0.1.post2", V100, "default", "runs", "torch-code-inferred"),
    ("torch==1.8.2+cu111", A100, "LTS index", "runs", "torch-code-inferred"),
    ("torch 2.6 (vendor container)", H100, "default", "runs", "torch-code-inferred"),
    ("torch (docker image with CUDA 12.1)", "rtx 5090", None, "risky", "torch-text-at-best"),
    ("torch 1.11.0 (compiled from source)", A100, None, "unknown", "torch-build-unknown"),
    ("torch 1.12 (built from source with CUDA 11.6)", H100, None, "risky", "torch-text-at-best"),
    ("torch 2.3 (any CUDA 12 build)", A100, None, "runs", "torch-code-inferred"),
    ("torch>=2.1,<2.3", H100, "default", "runs", "torch-code-inferred"),
    ("torch>=1.12", H100, "default", "unknown", "torch-undecided"),
    ("torch==99.0", A100, "default", "unknown", "torch-not-in-table"),
    ("torch==9.0+cu130", A100, None, "unknown", "torch-not-in-table"),
    ("torch==2.16.0.dev20261101+cu132", A100, None, "runs", "torch-code-inferred"),
    ("torch==2.17.0.dev20270301+cu140", A100, None, "unknown", "torch-not-in-table"),
    ("torch==0.3.1", A100, "default", "risky", "torch-text-at-best"),
    ("torch==0.3.1", V100, "default", "unknown", "torch-not-in-table"),
]


@pytest.mark.parametrize(("torch", "gpu", "index", "verdict", "rule"), KERNELS)
def test_kernels(torch, gpu, index, verdict, rule):
    told, findings = ask(torch, gpu, index)
    assert rule in findings, (told, findings)
    assert told == verdict


FIXES = [
    ("torch==1.12.1", A100, "default", "lock torch==1.12.1+cu113"),
    ("torch==2.0.1", H100, "default", "lock torch==2.0.1+cu118"),
    ("torch==1.6.0", A100, "default", "lock torch==1.7.0+cu110"),
    ("torch==1.13.1", H100, "default", "lock torch==2.0.0+cu118"),
    ("torch==2.6.0", "B200", "default", "lock torch==2.7.0+cu128"),
    ("torch==2.11.0", V100, "default", "lock torch==2.11.0+cu126"),
]


@pytest.mark.parametrize(("torch", "gpu", "index", "fix"), FIXES)
def test_the_cheapest_build_is_named(torch, gpu, index, fix):
    _, findings = ask(torch, gpu, index)
    assert findings["torch-no-code"].fix[0].startswith(fix)


def test_a_pin_that_must_move_is_said():
    _, findings = ask("torch==1.6.0", A100)
    assert "the pin itself must move" in findings["torch-no-code"].fix[0]
    _, findings = ask("torch==1.12.1", A100)
    assert "pin" not in findings["torch-no-code"].fix[0]


def test_a_fix_respects_python_and_driver():
    _, findings = ask("torch==1.6.0", A100, python="3.8")
    assert findings["torch-no-code"].fix[0].startswith("lock torch==1.7.0+cu110 (index pytorch-cu110)")
    _, findings = ask("torch==1.13.1", H100, python="3.11", driver="525.60.13")
    assert findings["torch-no-code"].fix[0].startswith("lock torch==2.0.0+cu118")


def test_a_printed_list_wins_over_the_table():
    verdict, findings = ask("torch==2.1.0", H100, arch_list=["sm_80", "sm_86"])
    assert verdict == "will-fail"
    assert {"torch-no-code", "torch-list-differs"} <= set(findings)


def test_an_empty_printed_list_says_nothing():
    verdict, findings = ask("torch==2.1.0", H100, arch_list=[])
    assert verdict == "runs"
    assert "torch-list-differs" not in findings


DRIVERS = [
    ("torch==2.2.0", "470.82.01", None, "will-fail", "driver-too-old"),
    ("torch==2.2.0", "525", None, "runs", None),
    ("torch==2.2.0", "R525", None, "runs", None),
    ("torch==2.2.0", "515", None, "will-fail", "driver-too-old"),
    ("torch==1.13.1", None, "11.2", "runs", None),
    ("torch==2.0.0+cu118", None, "11.4", "runs", None),
    ("torch==1.7.1+cu110", "440.82", None, "will-fail", "driver-too-old"),
    ("torch==1.6.0", "418.87", None, "will-fail", "driver-too-old"),
    ("torch==1.6.0", None, "10.1", "will-fail", "driver-too-old"),
    ("torch==1.6.0", None, "12.2", "runs", None),
    ("torch==2.11.0", "575.57.08", None, "will-fail", "driver-too-old"),
    ("torch==2.11.0", "580.65.06", None, "runs", None),
    ("torch (container, CUDA 12.4)", "515.48.07", None, "will-fail", "driver-too-old"),
    ("torch==2.1.2+cpu", "390.46", None, "runs", None),
]


@pytest.mark.parametrize(("torch", "driver", "driver_cuda", "verdict", "rule"), DRIVERS)
def test_driver_without_a_card(torch, driver, driver_cuda, verdict, rule):
    told, findings = ask(
        torch,
        None,
        None if "+" in torch or "(" in torch else "default",
        driver=driver,
        driver_cuda=driver_cuda,
    )
    assert told == verdict, findings
    assert rule is None or rule in findings


def test_driver_too_old_names_the_build_that_it_runs():
    _, findings = ask("torch==2.2.0", A100, driver="470.82.01")
    assert findings["driver-too-old"].fix == [
        "driver >= 525.60.13",
        "lock torch==2.2.0+cu118 (index pytorch-cu118)",
    ]


def test_an_open_tag_leaves_the_driver_undecided():
    verdict, findings = ask("torch==2.1.2", A100, None, driver="470.82.01")
    assert verdict == "unknown"
    assert "driver-undecided" in findings


@pytest.mark.parametrize(("gpu", "driver"), [(V100, "590.44.01"), (P100, "595"), ("K80", "525.60.13")])
def test_a_branch_that_dropped_the_card(gpu, driver):
    verdict, findings = ask("torch==1.13.1", gpu, driver=driver)
    assert verdict == "will-fail"
    assert "driver-dropped-card" in findings


def test_ptx_needs_the_driver_of_its_toolkit():
    """Minor-version compatibility covers machine code only: 12.9 text needs R575, 12.9 machine code R525."""
    torch = {"torch": "torch==2.8.0+cu129", "index": None}
    text = ask(**torch, gpu="12.1 sm_121", driver="550.54.14", arch_list=["sm_90", "compute_120"])
    assert "driver-before-ptx" in text[1]
    assert text[0] == "will-fail"
    assert (
        ask(**torch, gpu="NAME (12.1)", driver="575.51.03", arch_list=["sm_90", "compute_120"])[0]
        == "runs-after-jit"
    )
    assert ask(**torch, gpu=H100, driver="550.54.14", arch_list=["sm_90", "compute_120"])[0] == "runs"


def test_forward_compatibility_is_a_remark_and_no_pass():
    for gpu, said in ((A100, True), ("GeForce RTX 3090", False)):
        verdict, findings = ask("torch (container, CUDA 12.1)", gpu, None, driver="470.57.02")
        assert verdict == "will-fail"
        assert any("cuda-compat" in fix for fix in findings["driver-too-old"].fix) == said


@pytest.mark.parametrize(
    ("gpu", "driver", "verdict"),
    [
        ("GeForce RTX 4090", "525.60.13", "risky"),
        ("RTX A6000", "525.60.13", "runs"),
        ("GeForce RTX 4090", "535.54.03", "runs"),
    ],
)
def test_forward_compatibility_of_containers(gpu, driver, verdict):
    told, _ = ask("torch (container, CUDA 12.1 build)", gpu, None, driver=driver)
    assert told == verdict


WHEELS = [
    ("torch==2.1.0", "default", {"python": "3.12"}, "python-no-wheel"),
    ("torch==1.12.1", "default", {"python": "3.11"}, "python-no-wheel"),
    ("torch==1.3.0", "default", {"python": "3.8"}, "python-no-wheel"),
    ("torch==2.9.0", "default", {"python": "3.9"}, "python-no-wheel"),
    ("torch==2.1.0+cu117", None, {}, "build-not-made"),
    ("torch==1.13.1", "pytorch-cu118", {}, "build-not-made"),
    ("torch==1.8.1+cu110", None, {}, "build-not-made"),
    ("torch==1.9.5", "default", {}, "release-not-made"),
    ("torch==1.9.0+cu111", "default", {}, "index-without-build"),
    ("torch==2.4.1+cu121", "pytorch-cu124", {}, "index-without-build"),
    ("torch==2.7.0", "default", {"platform": {"glibc": "2.17"}}, "wheel-glibc"),
    ("torch==2.6.0", "default", {"platform": {"detail": "base image alpine 3.18"}}, "wheel-needs-glibc"),
    ("torch==2.1.0", "pytorch-cpu", {"gpu": A100}, "cpu-build"),
    ("torch==2.1.0+rocm5.6", None, {"gpu": A100}, "cpu-build"),
    ("pytorch=1.13.1 cpuonly", "conda:pytorch", {"gpu": A100}, "cpu-build"),
    ("pytorch=2.1.0=cpu_mkl_py310h0_100", "conda:conda-forge", {"gpu": A100}, "cpu-build"),
    ("torch 2.1.0 (CPU build)", None, {"gpu": A100}, "cpu-build"),
    (
        "torch==2.6.0",
        "default",
        {"gpu": "GH200 (9.0)", "platform": {"machine": "aarch64"}},
        "cpu-build-on-aarch64",
    ),
]


@pytest.mark.parametrize(("torch", "index", "more", "rule"), WHEELS)
def test_what_cannot_be_installed_or_used(torch, index, more, rule):
    verdict, findings = ask(torch, more.pop("gpu", None), index, **more)
    assert verdict == "will-fail"
    assert rule in findings, findings


def test_pythons_that_would_work_are_named():
    _, findings = ask("torch==1.12.1", python="3.11")
    assert findings["python-no-wheel"].needed == "Python 3.7, 3.8, 3.9, 3.10"
    assert findings["python-no-wheel"].fix[0] == "python 3.10"
    assert findings["python-no-wheel"].fix[1].startswith("lock torch==1.13.0")


AARCH64 = [
    ("torch==2.11.0", "default", "GH200 (9.0)", "runs"),
    ("torch==2.8.0", "pytorch-cu129", "B200", "runs"),
    ("torch==2.4.1", "pytorch-cu124", "GH200 (9.0)", "unknown"),
    ("torch==2.8.0", "pytorch-cu128", A100, "unknown"),
]


@pytest.mark.parametrize(("torch", "index", "gpu", "verdict"), AARCH64)
def test_aarch64(torch, index, gpu, verdict):
    told, findings = ask(torch, gpu, index, platform={"system": "linux", "machine": "aarch64"})
    assert told == verdict, findings


@pytest.mark.parametrize("system", ["windows", "darwin", "freebsd"])
def test_other_systems_are_not_guessed(system):
    verdict, findings = ask("torch==2.1.0", H100, platform={"system": system})
    assert verdict == "unknown"
    assert "platform-outside-tables" in findings
    assert ask("torch==2.1.0", H100, platform={"system": system}, arch_list=["sm_90"])[0] == "runs"


HOST = [
    ({"host_probe": {"cuda_init_error": 803}}, "will-fail", "host-cuda-init"),
    ({"host_probe": {"cuda_init_error": 12345}}, "will-fail", "host-cuda-init"),
    ({"host_probe": {"cuda_init_error": 802}}, "will-fail", "host-fabric-manager"),
    ({"host_probe": {"cuda_init_error": 0}}, "runs", None),
    ({"platform": {"detail": "CUDA 12.4 libraries in the loader path"}}, "risky", "library-path-shadows"),
    ({"platform": {"detail": "cuDNN 8 in a folder on LD_LIBRARY_PATH"}}, "risky", "library-path-shadows"),
    ({"platform": {"detail": "CUDA 11.7 runtime on the library path"}}, "runs", "library-path-same"),
    ({"platform": {"detail": "LD_LIBRARY_PATH unset"}}, "runs", None),
    ({"platform": {"detail": "module load cuda/12.1 in the job"}}, "risky", "library-path-shadows"),
    ({"platform": {"detail": "LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64"}}, "risky", "library-path-shadows"),
    ({"platform": {"detail": "plain base image, nothing on the library path"}}, "runs", None),
    ({"platform": {"detail": "base image debian:bookworm"}}, "runs", None),
]


@pytest.mark.parametrize(("more", "verdict", "rule"), HOST)
def test_host(more, verdict, rule):
    told, findings = ask("torch==1.13.1", A100, **more)
    assert told == verdict, findings
    assert rule is None or rule in findings


FAULTS = [
    ("torch==2.2.0", "NVIDIA H20", "known-fault"),
    ("torch==2.4.1+cu124", "NVIDIA H20", None),
    ("torch==2.2.0", "NVIDIA H200", None),
    ("torch==1.0.1", "GeForce RTX 2080 Ti", "known-fault"),
    ("torch==1.2.0", "GeForce RTX 2080 Ti", None),
    ("torch==1.7.1+cu110", "RTX A6000", None),
    ("torch==1.13.0", "A100-SXM4-40GB MIG 3g.20gb", "known-fault"),
    ("torch==2.1.0", "A100-SXM4-40GB MIG 3g.20gb", None),
    ("torch==2.0.0", RTX3090, "known-remark"),
]


@pytest.mark.parametrize(("torch", "gpu", "rule"), FAULTS)
def test_known_faults(torch, gpu, rule):
    verdict, findings = ask(torch, gpu, None if "+" in torch else "default")
    assert {"known-fault", "known-remark"} & set(findings) == ({rule} if rule else set())
    assert verdict == ("risky" if rule == "known-fault" else "runs")


PARTNERS = [
    ("torch==2.1.0", [("torchvision", "0.16.0")], "runs", None),
    ("torch==2.1.0", [("torchvision", "0.15.2")], "will-fail", "partner-differs"),
    ("torch==2.1.2", [("torchvision", "0.16.0")], "risky", "partner-patch-differs"),
    ("torch==2.1.0", [("torchaudio", "2.0.2")], "will-fail", "partner-differs"),
    ("torch==2.1.0+cu121", [("torchvision", "0.16.0+cu118")], "will-fail", "partner-cuda-differs"),
    ("torch==2.1.0", [("numpy", "2.1.1")], "risky", "numpy-2-old-torch"),
    ("torch==2.3.0", [("numpy", "2.1.1")], "runs", None),
    ("torch==2.1.0", [("numpy", "1.26.4")], "runs", None),
    ("torch==2.15.0", [("torchvision", "0.28.0")], "runs", None),
    ("torch==2.1.0", [("numpy", ">=1.20")], "risky", "numpy-2-unpinned"),
    ("torch==2.1.0", [("numpy", "")], "risky", "numpy-2-unpinned"),
    ("torch==2.1.0", [("numpy", "<2")], "runs", None),
    ("torch==1.13.1", [("numpy", "~=1.24")], "runs", None),
]


@pytest.mark.parametrize(("torch", "extras", "verdict", "rule"), PARTNERS)
def test_partners(torch, extras, verdict, rule):
    rows = [{"name": name, "version": version} for name, version in extras]
    told, findings = ask(torch, None, None if "+" in torch else "default", extras=rows)
    assert told == verdict, findings
    assert rule is None or rule in findings


def test_nothing_known_is_said_with_the_way_to_find_out():
    verdict, findings = ask(None, A100, None)
    assert verdict == "unknown"
    assert "torch.cuda.get_arch_list()" in findings["torch-unknown"].fix[0]


def test_an_unknown_card_gets_a_did_you_mean():
    verdict, findings = ask("torch==2.1.0", "RTX A600")
    assert verdict == "unknown"
    assert findings["card-unknown"].fix[0] == "repro check --gpu rtx-a6000"


def test_an_open_version_is_noted():
    _, findings = ask("torch", A100, "pytorch-cu121")
    assert "torch-unpinned" in findings
    assert "torch-unpinned" not in ask("torch==2.1.0", A100)[1]
