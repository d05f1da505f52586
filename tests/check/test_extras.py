"""Packages that are only described: the kinds of trouble, each in several wordings."""

import itertools

import pytest
from packaging.version import Version

from repro.check import examine, read_question, stack_and_target
from repro.check.known.policy import exact, known, prebuilt, prebuilt_of, surely_before, surely_from
from repro.check.words.extra_targets import targets_of
from repro.model.check import Extra, Stack, Torch
from repro.tables.read import table


def ask(torch="torch==2.3.0", index="pytorch-cu121", gpu=None, glibc=None, python="3.10", **extra):
    """(verdict, rules) for one described package beside a torch."""
    platform = {"system": "linux", "machine": "x86_64"} | ({"glibc": glibc} if glibc else {})
    document = {
        "python": python,
        "platform": platform,
        "torch": {"spec": torch, "index": index},
        "extras": [extra] if extra else [],
        "gpu": {"name": "card", "cc": gpu} if gpu else None,
    }
    report = examine(*stack_and_target(read_question(document)))
    return report.verdict, [found.rule for found in report.findings]


def rules(**question) -> set[str]:
    return {rule for rule in ask(**question)[1] if rule.startswith(("extra-", "numpy2-"))}


@pytest.mark.parametrize(
    ("torch", "index", "extra", "expected"),
    [
        (
            "torch==1.10.0+cu111",
            None,
            {"name": "torch-scatter", "how": "wheel for torch 1.9.1+cu111"},
            "extra-other-torch",
        ),
        (
            "torch==2.4.1",
            "pytorch-cu121",
            {"name": "torch-sparse", "how": "wheel built for torch 2.1.0+cu121"},
            "extra-other-torch",
        ),
        (
            "torch==2.1.0",
            "pytorch-cu121",
            {"name": "mmcv", "how": "wheel cu117 torch2.1"},
            "extra-other-torch",
        ),
        (
            "torch==2.2.0",
            "pytorch-cu121",
            {"name": "custom-ops", "how": "compiled against torch 2.1"},
            "extra-other-torch",
        ),
        (
            "torch==2.2.0",
            "pytorch-cu121",
            {"name": "apex", "how": "compiled before torch was upgraded"},
            "extra-other-torch",
        ),
        (
            "torch==2.2.0",
            "pytorch-cu121",
            {"name": "apex", "how": "wheel built for another torch"},
            "extra-other-torch",
        ),
        (
            "torch==1.13.1",
            "pytorch-cu117",
            {"name": "pyg-lib", "how": "wheel for torch 1.13.0+cu117"},
            "extra-other-patch",
        ),
        (
            "torch==1.10.0+cu113",
            None,
            {"name": "torch-scatter", "how": "wheel for torch 1.10.0+cu111"},
            "extra-other-patch",
        ),
        (
            "torch==2.0.1",
            "pytorch-cu118",
            {"name": "torch-cluster", "how": "wheel for torch 2.0.1+cpu"},
            "extra-cpu-build",
        ),
        ("torch==2.1.2", "pytorch-cu118", {"name": "xformers", "version": "0.0.22"}, "extra-other-torch"),
        ("torch==2.0.0", "pytorch-cu118", {"name": "xformers", "version": "0.0.22"}, "extra-other-pin"),
        ("torch==2.1.0+cpu", "pytorch-cpu", {"name": "flash-attn", "version": "2.5.8"}, "extra-on-cpu-torch"),
        (
            "torch==2.1.0+cpu",
            "pytorch-cpu",
            {"name": "spam-ops", "how": "wheel built with cu121"},
            "extra-on-cpu-torch",
        ),
        (
            "torch==2.3.0",
            "pytorch-cu121",
            {"name": "flash-attn", "version": "2.5.7", "how": "prebuilt wheel"},
            "extra-no-wheel",
        ),
        ("torch==1.10.0", "pytorch-cu113", {"name": "flash-attn"}, "extra-compiles"),
        ("torch==2.9.0", "pytorch-cu128", {"name": "flash-attn", "version": "2.8.3"}, "extra-compiles"),
        ("torch==2.1.0", "default", {"name": "mmcv", "version": ">=2.0.0rc1"}, "extra-compiles"),
        ("torch==2.1.0", "default", {"name": "torch_scatter"}, "extra-compiles"),
        (
            "torch 2.1 pre-release (vendor container)",
            None,
            {"name": "flash-attn", "how": "prebuilt wheel"},
            "extra-on-private-torch",
        ),
        (
            "torch 2.4 (vendor container)",
            None,
            {"name": "xformers", "how": "prebuilt wheel"},
            "extra-on-vendor-torch",
        ),
        (
            "torch==2.0.1 (compiled from source)",
            None,
            {"name": "torch-scatter", "how": "prebuilt wheel"},
            "extra-on-private-torch",
        ),
        (
            "torch==2.6.0.dev20241001+cu124",
            "pytorch-nightly-cu124",
            {"name": "flash-attn"},
            "extra-on-private-torch",
        ),
        (
            "torch==2.5.1",
            "pytorch-cu124",
            {
                "name": "flash-attn",
                "version": "2.7.3",
                "how": "wheel flash_attn-2.7.3+cu12torch2.5cxx11abiTRUE-cp310",
            },
            "extra-other-string-abi",
        ),
        (
            "torch==2.5.1",
            "pytorch-cu124",
            {"name": "spam", "how": "wheel spam-1.0-cp312-cp312-linux_x86_64.whl"},
            "extra-other-platform",
        ),
        (
            "torch==2.5.1",
            "pytorch-cu124",
            {"name": "spam", "how": "wheel for linux_aarch64"},
            "extra-other-platform",
        ),
    ],
)
def test_made_for_another_torch(torch, index, extra, expected) -> None:
    assert expected in rules(torch=torch, index=index, **extra)


@pytest.mark.parametrize(
    ("torch", "index", "extra"),
    [
        ("torch==1.10.0+cu111", None, {"name": "torch-scatter", "how": "wheel for torch 1.10.0+cu111"}),
        (
            "torch==2.3.0",
            "pytorch-cu121",
            {"name": "flash-attn", "version": "2.5.8", "how": "prebuilt wheel"},
        ),
        ("torch==2.3.1", "pytorch-cu121", {"name": "flash-attn", "version": "2.6.3"}),
        ("torch==2.1.0", "pytorch-cu121", {"name": "xformers", "version": "0.0.22.post7"}),
        ("torch==2.1.0", "pytorch-cu121", {"name": "mmcv", "version": "2.1.0", "how": "prebuilt wheel"}),
        (
            "torch 2.2 pre-release (vendor container)",
            None,
            {"name": "flash-attn", "how": "compiled in the container"},
        ),
        (
            "torch 2.2 pre-release (vendor container)",
            None,
            {"name": "flash-attn", "how": "wheel built in the container"},
        ),
        (
            "torch==2.5.1",
            "pytorch-cu124",
            {"name": "flash-attn", "version": "2.7.3", "how": "wheel with cxx11abiFALSE"},
        ),
        (
            "torch==2.7.1",
            "pytorch-cu128",
            {"name": "flash-attn", "version": "2.8.3", "how": "wheel with cxx11abiTRUE"},
        ),
        ("torch==2.1.0", "default", {"name": "kornia"}),
        ("torch==2.1.0", "default", {"name": "mmcv", "version": "1.7.0"}),
    ],
)
def test_made_for_this_torch(torch, index, extra) -> None:
    assert not rules(torch=torch, index=index, **extra)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (
            {"name": "flash-attn", "how": "prebuilt wheel installed in the container"},
            {"extra-on-private-torch"},
        ),
        ({"name": "flash-attn", "how": "wheel built against this torch"}, set()),
        ({"name": "flash-attn", "how": "pip, no build isolation, forced build from source"}, set()),
    ],
)
def test_beside_a_pre_release_it_matters_where_a_file_was_built(extra, expected) -> None:
    assert rules(torch="torch 2.2 pre-release (vendor container)", index=None, **extra) == expected


def test_plain_pip_means_what_the_index_has() -> None:
    assert rules(name="torch-cluster", how="pip install") == {"extra-compiles"}
    assert not rules(name="torch-cluster", how="pip install -f the project's page")
    assert rules(name="flash-attn", version="2.5.7", how="pip, no build isolation") == {"extra-compiles"}


def test_a_fix_names_a_release_that_was_built_for_the_torch() -> None:
    document = {
        "torch": {"spec": "torch==2.3.0", "index": "pytorch-cu121"},
        "extras": [{"name": "flash-attn", "version": "2.5.7", "how": "prebuilt wheel"}],
    }
    findings = examine(*stack_and_target(read_question(document))).findings
    (found,) = [one for one in findings if one.rule == "extra-no-wheel"]
    assert found.fix[0] == "flash-attn==2.5.8"
    assert "2.3" in found.needed


@pytest.mark.parametrize(
    ("extra", "gpu", "expected"),
    [
        ({"name": "faiss-gpu-cu12", "how": "wheel, code for sm_70 sm_80"}, "9.0", "extra-no-code"),
        ({"name": "spam-ops", "how": "wheel without sm_120"}, "12.0", "extra-no-code"),
        ({"name": "spam-ops", "how": "wheel with kernels for 8.0 and 8.6 only"}, "9.0", "extra-no-code"),
        ({"name": "spam-ops", "how": "wheel built for Ampere and Ada"}, "9.0", "extra-no-code"),
        ({"name": "spam-ops", "how": "compiled with TORCH_CUDA_ARCH_LIST=8.6"}, "8.0", "extra-no-code"),
        ({"name": "spam-ops", "how": "compiled on an A10 machine"}, "8.0", "extra-no-code"),
        ({"name": "apex", "how": "compiled in the image on a 6.0 GPU"}, "7.0", "extra-other-card"),
        ({"name": "apex", "how": "built on a V100 node, compiled"}, "8.0", "extra-other-card"),
        ({"name": "spam-ops", "how": "compiled with TORCH_CUDA_ARCH_LIST=8.0+PTX"}, "9.0", "extra-jit"),
        ({"name": "spam-ops", "how": "wheel with sm_80 and PTX"}, "12.0", "extra-jit"),
        ({"name": "flash-attn"}, "7.0", "extra-needs-newer-card"),
        ({"name": "flash_attn", "version": "2.5.8"}, "7.5", "extra-needs-newer-card"),
        ({"name": "flash-attn", "version": "2.5.8", "how": "compiled"}, "7.5", "extra-needs-newer-card"),
        ({"name": "flash-attn", "version": "2.5.8", "how": "prebuilt wheel"}, "12.0", "extra-no-code"),
        ({"name": "flash-attn", "version": "1.0.9"}, "6.1", "extra-needs-newer-card"),
        ({"name": "vllm", "version": "0.2.0"}, "6.0", "extra-needs-newer-card"),
        ({"name": "sageattention", "version": "2.1.1"}, "7.5", "extra-needs-newer-card"),
        ({"name": "FlashMLA"}, "8.9", "extra-needs-newer-card"),
        ({"name": "spam-ops", "how": "prebuilt wheel"}, "12.0", "extra-code-unknown"),
        ({"name": "spam-ops", "how": "compiled"}, "8.0", "extra-code-unknown"),
        ({"name": "spam-ops", "how": "wheel, stops at sm_90"}, "12.0", "extra-no-code"),
        ({"name": "spam-ops", "how": "wheel, up to sm_90"}, "8.0", "extra-code-unknown"),
        ({"name": "xformers", "how": "wheel built with flash attention"}, "12.0", "extra-known-fault"),
        ({"name": "transformer-engine"}, "9.0", "extra-code-unsaid"),
    ],
)
def test_code_for_the_card(extra, gpu, expected) -> None:
    assert expected in rules(gpu=gpu, **extra)


@pytest.mark.parametrize(
    ("extra", "gpu"),
    [
        ({"name": "spam-ops", "how": "compiled with sm_120 in its target list"}, "12.0"),
        ({"name": "spam-ops", "how": "wheel, code for sm_80"}, "8.9"),
        ({"name": "spam-ops", "how": "wheel without sm_120, code for sm_80 sm_90"}, "9.0"),
        ({"name": "spam-ops", "how": "compiled on an A100 machine"}, "8.6"),
        ({"name": "spam-ops", "how": "wheel built for Ampere"}, "8.6"),
        ({"name": "deepspeed", "how": "operators compiled at first use, nvcc 12.1"}, "9.0"),
        ({"name": "flash-attn", "version": "2.5.8", "how": "prebuilt wheel"}, "8.0"),
        ({"name": "flash-attn", "version": "2.5.8", "how": "compiled"}, "9.0"),
        ({"name": "kornia"}, "12.0"),
        ({"name": "vllm", "version": "0.8.5", "how": "compiled on the same machine"}, "7.0"),
    ],
)
def test_nothing_against_the_card(extra, gpu) -> None:
    assert not rules(gpu=gpu, **extra)


def test_old_flash_attention_ran_on_turing() -> None:
    assert "extra-needs-newer-card" not in rules(
        gpu="7.5", name="flash-attn", version="1.0.9", how="compiled"
    )


@pytest.mark.parametrize(
    ("extra", "glibc", "expected"),
    [
        ({"name": "flash-attn", "version": "2.8.3"}, "2.31", {"extra-glibc"}),
        ({"name": "flash-attn", "version": "2.8.3"}, "2.35", set()),
        ({"name": "flash-attn", "version": "2.7.4.post1"}, "2.31", set()),
        ({"name": "flash-attn", "version": "2.8.3", "how": "compiled"}, "2.31", set()),
        (
            {"name": "flash-attn", "version": "2.7.4.post1", "how": "third party wheel"},
            "2.28",
            {"extra-glibc"},
        ),
        ({"name": "spam-ops", "how": "third-party wheel"}, "2.28", {"extra-glibc-unknown"}),
        ({"name": "spam-ops", "how": "wheel built on Ubuntu 22.04"}, "2.28", {"extra-glibc"}),
        ({"name": "spam-ops", "how": "wheel built on Ubuntu 20.04"}, "2.35", set()),
        ({"name": "spam-ops", "how": "manylinux_2_28 wheel"}, "2.17", {"extra-glibc"}),
        ({"name": "spam-ops", "how": "manylinux2014 wheel"}, "2.17", set()),
        ({"name": "spam-ops", "how": "third-party wheel"}, "no version", set()),
        ({"name": "spam-ops", "how": "wheel, needs GLIBC_2.32"}, "2.31", {"extra-glibc"}),
        ({"name": "spam-ops", "how": "wheel, requires glibc >= 2.29"}, "2.31", set()),
        ({"name": "pyg-lib", "version": "0.5.0+pt27cu128", "how": "wheel"}, "2.31", {"extra-glibc"}),
        ({"name": "pyg-lib", "version": "0.4.0+pt27cu128", "how": "wheel"}, "2.31", set()),
    ],
)
def test_the_c_library(extra, glibc, expected) -> None:
    found = rules(torch="torch==2.7.1", index="pytorch-cu128", glibc=glibc, **extra)
    assert {rule for rule in found if "glibc" in rule} == expected


def test_the_fix_for_a_c_library_is_an_older_release_or_a_newer_base() -> None:
    document = {
        "torch": {"spec": "torch==2.6.0", "index": "pytorch-cu124"},
        "platform": {"glibc": "2.31"},
        "extras": [{"name": "flash-attn", "version": "2.8.0.post2"}],
    }
    findings = examine(*stack_and_target(read_question(document))).findings
    (found,) = [one for one in findings if one.rule == "extra-glibc"]
    assert "a base image such as Rocky Linux 9" in found.fix
    assert "flash-attn==2.8.0" in found.fix


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ({"numpy": "2.0.0", "opencv-python": "4.9.0.80"}, {"numpy2-extension"}),
        ({"numpy": "2.0.0", "opencv-python": "4.10.0.84"}, set()),
        ({"numpy": "1.26.4", "opencv-python": "4.9.0.80"}, set()),
        ({"numpy": "2.1.0", "pandas": "2.2.3", "scipy": "1.14.0"}, set()),
        ({"numpy": "2.1.0", "numba": "0.59.1"}, {"numpy2-extension"}),
    ],
)
def test_numpy_2_beside_locked_packages(packages, expected) -> None:
    stack = Stack(
        origin="lock",
        torch=Torch(version="2.5.1", tag="cu124", cuda="12.4", make="release"),
        packages=packages,
    )
    found = {one.rule for one in examine(stack, stack_and_target(read_question({}))[1]).findings}
    assert {rule for rule in found if rule.startswith("numpy2-")} == expected


def test_a_locked_package_is_judged_by_the_table_too() -> None:
    torch = Torch(
        version="2.3.0", tag="cu121", cuda="12.1", make="release", sass=["sm_70"], ptx=[], basis="table"
    )
    stack = Stack(origin="lock", torch=torch, packages={"flash-attn": "2.5.8", "numpy": "1.26.4"})
    _, target = stack_and_target(read_question({"gpu": "v100"}))
    assert "extra-needs-newer-card" in [one.rule for one in examine(stack, target).findings]


@pytest.mark.parametrize(
    ("how", "named", "cards"),
    [
        ("compiled with nvcc 12.1 for torch 2.1", (), ()),
        ("wheel 8.0.1", (), ()),
        ("kernels for 2.1", (), ()),
        ("compute capability 8.6", ("sm_86",), ()),
        ("code for 9.0a", ("sm_90a",), ()),
        ("targets: 8.0, 9.0+PTX", ("sm_80", "sm_90", "compute_90"), ()),
        ("built for Hopper", ("sm_90",), ()),
        ("built for Ampere and newer", (), ()),
        ("compiled on a RTX 2080 Ti", (), ("7.5",)),
        ("compiled with a hard coded list", (), ()),
    ],
)
def test_targets_in_words(how, named, cards) -> None:
    said = targets_of(Extra(name="x", how=how))
    assert said.named == named
    assert said.cards == cards


def test_versions_in_words() -> None:
    assert str(exact("==2.5.8")) == "2.5.8"
    assert exact("<0.11") is None
    assert exact("") is None
    assert surely_from(">=2.1", "2.0")
    assert not surely_from("", "2.0")
    assert not surely_from("<3", "2.0")
    assert surely_before("<2.0", "2.0")
    assert not surely_before("<=2.0", "2.0")
    assert surely_before("1.9", "2.0")
    assert not surely_before("nonsense", "2.0")


def test_the_table_is_read_in_any_spelling() -> None:
    assert known("Flash_Attn") == known("flash-attn")
    files = prebuilt_of("flash_attn", "2.7.4.post1")
    assert files is not None
    assert files.torch == ("2.2", "2.3", "2.4", "2.5", "2.6")
    assert prebuilt_of("flash-attn", "") is None


def test_every_row_of_the_tables_has_a_source_and_a_sound_range() -> None:
    for rows in table("extensions").values():
        assert all(row["source"] for row in rows)
    for row in table("extensions")["release"]:
        assert Version(row["since"]) <= Version(row["until"]), row
    packages = {row["name"] for row in table("extensions")["package"]}
    named = [row["name"] for kind in ("release", "fault", "third_party") for row in table("extensions")[kind]]
    assert set(named) <= packages
    systems = table("systems")["system"]
    assert all(row["source"] for row in systems)
    floors = [Version(row["glibc"]) for row in systems]
    assert floors == sorted(floors)


def test_releases_of_a_package_stand_in_order_and_do_not_overlap() -> None:
    for name in {row["name"] for row in table("extensions")["release"]}:
        rows = prebuilt(name)
        for before, after in itertools.pairwise(rows):
            assert Version(before.until) < Version(after.since), (name, before.until, after.since)
