"""Drivers, toolkits, builds of torch and changes, by their versions."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.tables import toolkits as kits
from repro.tables.changes import applies, between, changes
from repro.tables.drivers import driver_key, reaches
from repro.tables.libraries import libraries, library
from repro.tables.torchbuilds import build_of, release, releases


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("535.104.05", (535, 104, 5)),
        ("450.119.03", (450, 119, 3)),
        ("570.26", (570, 26)),
        ("R525", (525,)),
        ("r525", (525,)),
        ("525", (525,)),
        (" 535.104.05\n", (535, 104, 5)),
        ("535.183.01-0ubuntu1", (535, 183, 1)),
        ("abc", None),
        ("", None),
        ("12.2", None),
        ("525.", None),
        ("525.x", None),
        ("v525", None),
        ("31.0.15.3699", None),
        ("525.60.13.1.2", None),
        ("٥٢٥", None),
    ],
)
def test_a_driver_is_read_or_refused(text: str, key: tuple[int, ...] | None) -> None:
    assert driver_key(text) == key


@pytest.mark.parametrize(
    ("driver", "floor", "answer"),
    [
        ("450.119.03", "450.80.02", True),  # numbers, not text
        ("450.36.06", "450.80.02", False),
        ("525.60.13", "525.60.13", True),
        ("535", "525.60.13", True),
        ("515", "525.60.13", False),
        ("525", "525.60.13", None),
        ("525.60", "525.60.13", None),
        ("525", "R525", True),
        ("abc", "525.60.13", None),
        ("525.60.13", "", None),
    ],
)
def test_drivers_are_compared_by_their_numbers(driver: str, floor: str, answer: bool | None) -> None:
    assert reaches(driver, floor) is answer


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_compared(a: str, b: str) -> None:
    assert reaches(a, b) in (True, False, None)
    key = driver_key(a)
    assert key is None or 1 <= len(key) <= 4


@pytest.mark.parametrize(
    ("cuda", "floor"),
    [
        ("9.0", "384.81"),
        ("10.2", "440.33"),
        ("11.0", "450.80.02"),
        ("11.8", "450.80.02"),
        ("11.8.89", "450.80.02"),
        ("12.1", "525.60.13"),
        ("12.7", "525.60.13"),  # no toolkit of that version, but the major is known
        ("13.0", "580.65.06"),
        ("13.99", "580.65.06"),
        ("14.0", ""),
        ("8.0", ""),
        ("", ""),
        ("x", ""),
    ],
)
def test_driver_floors(cuda: str, floor: str) -> None:
    assert kits.driver_floor(cuda) == floor


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("12.2", "535.54.03"),
        ("11.0", "450.36.06"),
        ("12.7", "565"),
        ("13.4", "615"),
        ("13.5", ""),
        ("2.0", ""),
    ],
)
def test_the_driver_that_prints_a_cuda(cuda: str, driver: str) -> None:
    assert kits.driver_of_cuda(cuda) == driver


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("535.104.05", "12.2"),
        ("450.80.02", "11.0"),
        ("575.51.03", "12.9"),
        ("560", "12.5"),
        ("999.1", "13.4"),
        ("100.14", ""),
        ("abc", ""),
    ],
)
def test_the_newest_cuda_that_a_driver_surely_knows(driver: str, cuda: str) -> None:
    assert kits.cuda_of_driver(driver) == cuda


@pytest.mark.parametrize(
    ("isa", "version"),
    [("8.7", "12.8"), ("8.5", "12.5"), ("7.7", "11.7"), ("9.4", "13.4"), ("8.6", ""), ("", "")],
)
def test_the_toolkit_of_a_ptx_version(isa: str, version: str) -> None:
    found = kits.toolkit_of_isa(isa)
    assert (found.version if found else "") == version


def test_the_first_toolkit_of_a_target() -> None:
    firsts = {sm: kits.first_toolkit(sm) for sm in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_120", "sm_999")}
    versions = {sm: kit.version if kit else "" for sm, kit in firsts.items()}
    assert versions == {
        "sm_80": "11.0",
        "sm_86": "11.1",
        "sm_89": "11.8",
        "sm_90": "11.8",
        "sm_120": "12.8",
        "sm_999": "",
    }


@pytest.mark.parametrize(
    ("capability", "branch"),
    [
        ("3.5", "R470"),
        ("3.7", "R470"),
        ("5.0", "R580"),
        ("6.0", "R580"),
        ("7.0", "R580"),
        ("7.2", "R580"),
        ("7.5", ""),
        ("8.0", ""),
        ("10.0", ""),
        ("12.0", ""),
        ("", ""),
        ("x", ""),
    ],
)
def test_the_last_branch_of_a_capability(capability: str, branch: str) -> None:
    assert kits.last_branch(capability) == branch


@pytest.mark.parametrize(
    ("tag", "cuda"),
    [
        ("cu118", "11.8"),
        ("cu92", "9.2"),
        ("cu101", "10.1"),
        ("cu130", "13.0"),
        ("cu117.with.pypi.cudnn", "11.7"),
        ("cu118_pt20", "11.8"),
        ("cu118torch2.1cxx11abiFALSE", "11.8"),
        ("cu12", "12"),
        ("cpu", ""),
        ("rocm5.4.2", ""),
        ("cu1", ""),
        ("cu1234", ""),
        ("", ""),
    ],
)
def test_the_cuda_of_a_tag(tag: str, cuda: str) -> None:
    assert kits.tag_cuda(tag) == cuda


def test_tags_of_all_builds_name_their_cuda() -> None:
    builds = [build for row in releases().values() for build in row.builds]
    assert {build.tag: build.cuda for build in builds} == {b.tag: kits.tag_cuda(b.tag) for b in builds}


@pytest.mark.parametrize(
    ("sm", "capability", "excluded"),
    [
        ("sm_80", "8.7", True),
        ("sm_86", "8.7", True),
        ("sm_80", "8.6", False),
        ("sm_50", "5.3", True),
        ("sm_87", "8.7", False),
        ("sm_100", "10.1", True),
        ("sm_100", "10.3", False),
    ],
)
def test_devices_that_refuse_their_neighbours_code(sm: str, capability: str, excluded: bool) -> None:
    assert kits.cubin_excluded(sm, capability) is excluded


def test_a_target_that_was_renamed() -> None:
    assert kits.renamed("sm_101") == "sm_110"
    assert kits.renamed("sm_90") == "sm_90"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.12.1", "1.12.1"),
        ("1.10", "1.10.0"),
        ("1.13.1+cu117", "1.13.1"),
        ("v2.0.1", "2.0.1"),
        (" 2.9.1 ", "2.9.1"),
        ("2.99.0", ""),
        ("2.10.0.dev20251101", ""),
        ("1.13.1rc1", ""),
        ("", ""),
        ("nightly", ""),
        ("1", ""),
    ],
)
def test_a_release_as_people_write_it(text: str, version: str) -> None:
    found = release(text)
    assert (found.version if found else "") == version


def test_the_build_behind_a_requirement() -> None:
    plain, asked, local = build_of("1.12.1"), build_of("1.12.1", "cu116"), build_of("1.12.1+cu113")
    assert [b.tag for b in (plain, asked, local) if b] == ["cu102", "cu116", "cu113"]
    assert plain is not None
    assert (plain.on_pypi, plain.cuda, plain.ptx) == (True, "10.2", ())
    assert "sm_80" not in plain.sass
    assert asked is not None
    assert "sm_80" in asked.sass
    conda = build_of("1.13.1+cu117.with.pypi.cudnn")
    assert conda is not None
    assert conda.tag == "cu117"
    assert build_of("1.12.1", "cpu") is None
    assert build_of("1.12.1", "cu118") is None
    assert build_of("9.9") is None


def test_pythons_of_a_release() -> None:
    row = release("2.9.1")
    assert row is not None
    assert "3.13t" in row.pythons
    assert all(not python.endswith("t") for python in row.plain_pythons)


def test_code_in_a_library_wheel() -> None:
    found = library("nvidia-cublas-cu11", "11.10.3.66", "libcublas.so.11")
    assert found is not None
    assert found.containers["sm_80"] == 231
    assert found.ptx == ("compute_80",)
    assert {row.file for row in libraries("nvidia-cublas-cu11", "11.10.3.66")} == {
        "libcublas.so.11",
        "libcublasLt.so.11",
    }
    assert library("nvidia-cublas-cu11", "11.10.3.66", "libother.so") is None
    assert libraries("nvidia-cublas-cu11", "1.0") == []


def ids(a: str, b: str, capability: str = "", cuda: str = "") -> set[str]:
    return {change.id for change in between(a, b, capability, cuda)}


def test_changes_between_two_versions() -> None:
    assert {"tf32-matmul-on", "tf32-matmul-off"} <= ids("1.11.0", "1.12.1", "8.0")
    assert not {"tf32-matmul-on", "tf32-matmul-off"} & ids("1.11.0", "1.12.1", "7.5")
    assert "tf32-cudnn-on" not in ids("1.11.0", "1.12.1", "8.0")  # holds in both
    assert "sdpa-cudnn-2-5-0" in ids("2.5.0", "2.5.1", "9.0")
    assert "sdpa-cudnn-2-5-0" not in ids("2.5.0", "2.5.1", "8.0")
    assert "integer-division-error" not in ids("1.5.0", "1.8.0")  # in neither
    assert "integer-true-division" in ids("1.5.0", "1.8.0")
    assert {"random-sampler-1-7", "random-sampler-1-9"} <= ids("1.8.1+cu111", "1.10")
    assert "sdpa-cudnn-hopper-default" in ids("2.10.0", "2.11.0", "10.0")
    assert "sdpa-cudnn-hopper-default" not in ids("2.10.0", "2.11.0", "12.0")


def test_changes_are_the_same_both_ways_and_none_for_one_version() -> None:
    assert ids("1.8.1", "2.9.1", "8.6") == ids("2.9.1", "1.8.1", "8.6")
    assert ids("2.1.2", "2.1.2") == set()
    assert ids("nightly", "2.1.2") == set()


@pytest.mark.parametrize(
    ("change", "capability", "cuda", "answer"),
    [
        ("tf32-matmul-on", "8.0", "", True),
        ("tf32-matmul-on", "10.0", "", True),  # numbers, not text
        ("tf32-matmul-on", "7.5", "", False),
        ("tf32-matmul-on", "", "", True),
        ("cublas-workspace-config", "", "11.8", True),
        ("cublas-workspace-config", "", "10.1", False),
        ("cublas-workspace-config", "", "", True),
        ("cpu-cuda-rng", "8.0", "11.8", True),
    ],
)
def test_what_a_change_applies_to(change: str, capability: str, cuda: str, answer: bool) -> None:
    assert applies(changes()[change], capability, cuda) is answer


def test_asking_for_a_card_needs_no_torch_and_reads_no_other_table() -> None:
    code = (
        "import sys\n"
        "from repro.tables import gpus, read\n"
        "assert read.table.cache_info().currsize == 0\n"
        "gpus.find_gpu('a6000'), gpus.find_gpu('a100')\n"
        "assert read.table.cache_info().misses == 2, read.table.cache_info()\n"
        "print(sorted({'torch', 'numpy', 'click', 'docker', 'urllib.request'} & set(sys.modules)))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
