"""The gcc behind nvcc, and which torch a channel installs: what the words say and what follows."""

import pytest
from packaging.version import Version

from repro.check import examine, read_question, stack_and_target
from repro.tables.read import table


def rules(how: str, **more) -> set[str]:
    document = {"torch": "torch==2.1.0+cu121", "extras": [{"name": "spam-ops", "how": how}], **more}
    return {found.rule for found in examine(*stack_and_target(read_question(document))).findings}


@pytest.mark.parametrize(
    ("how", "stops"),
    [
        ("setup.py, nvcc 12.1, gcc 13", True),
        ("setup.py, nvcc 12.1, gcc 12", False),
        ("setup.py, nvcc 12.4, gcc 13.2", False),
        ("setup.py, nvcc 10.2, gcc 9.4", True),
        ("setup.py, nvcc 12.1, gcc 13, -allow-unsupported-compiler", False),
        ("prebuilt wheel, nvcc 12.1, gcc 13", False),
        ("setup.py, gcc 13", False),
        ("setup.py, nvcc 8.0, gcc 13", False),
    ],
)
def test_a_gcc_newer_than_nvcc_takes_stops_the_build(how, stops):
    assert ("nvcc-host-compiler" in rules(how)) is stops


def test_the_gcc_of_the_surroundings_counts_too():
    assert "nvcc-host-compiler" in rules("setup.py, nvcc 12.1", platform={"detail": "Ubuntu 24.04, gcc 13"})


def test_rows_are_in_order_and_sourced():
    rows = table("host_compilers")["nvcc"]
    assert [row["since"] for row in rows] == sorted((row["since"] for row in rows), key=Version)
    assert [row["gcc"] for row in rows] == sorted(row["gcc"] for row in rows)
    assert all(row["source"] for row in rows)


@pytest.mark.parametrize(
    ("spec", "detail", "told"),
    [
        ("pytorch", "image built without a GPU", True),
        ("pytorch=2.5.1", "docker build", True),
        ("pytorch-gpu", "image built without a GPU", False),
        ("pytorch=2.5.1=cuda126_py312", "docker build", False),
        ("pytorch", "docker build with CONDA_OVERRIDE_CUDA=12.6", False),
        ("pytorch", "a workstation", False),
    ],
)
def test_conda_forge_chooses_by_the_machine(spec, detail, told):
    document = {"torch": {"spec": spec, "index": "conda:conda-forge"}, "platform": {"detail": detail}}
    found = {one.rule for one in examine(*stack_and_target(read_question(document))).findings}
    assert ("conda-variant-by-machine" in found) is told


@pytest.mark.parametrize(
    ("version", "cc", "told"), [("3.5.0", "12.1", True), ("3.5.0", "9.0", False), ("9.9", "12.1", False)]
)
def test_a_triton_that_is_named_must_know_the_card(version, cc, told):
    document = {
        "torch": "torch==2.9.0+cu130",
        "extras": [{"name": "triton", "version": version}],
        "gpu": {"cc": cc},
    }
    found = {one.rule for one in examine(*stack_and_target(read_question(document))).findings}
    assert ("triton-target" in found) is told
