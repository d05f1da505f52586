"""TORCH_CUDA_ARCH_LIST: what both torch and its compiler take, nothing dropped in silence."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.check.code.serving import serving
from repro.check.known.archlist import accepted, arch_list, capped
from repro.model.check import Torch
from repro.tables.read import table
from repro.tables.torchbuilds import releases

CAPABILITIES = (
    "5.2",
    "6.0",
    "6.1",
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.7",
    "8.9",
    "9.0",
    "10.0",
    "10.3",
    "12.0",
    "12.1",
)
BUILDS = [Torch(version=r.version, tag=b.tag, cuda=b.cuda) for r in releases().values() for b in r.builds]


@pytest.mark.parametrize(
    ("version", "cuda", "wanted", "value", "left_out"),
    [
        ("1.13.1", "11.7", ["8.0", "8.6"], "8.0;8.6+PTX", []),
        ("1.13.1", "11.7", ["8.9"], "8.6+PTX", ["8.9"]),
        ("1.13.1", "11.7", ["9.0", "8.0"], "8.0;8.6+PTX", ["9.0"]),
        ("2.5.1", "12.4", ["8.0", "8.6", "8.9", "9.0"], "8.0;8.6;8.9;9.0+PTX", []),
        ("2.5.1", "12.4", ["12.0", "8.0"], "8.0;9.0+PTX", ["12.0"]),
        ("2.9.1", "12.8", ["12.0", "10.0", "9.0"], "9.0;10.0;12.0+PTX", []),
        ("1.7.1", "10.2", ["8.6"], "7.5+PTX", ["8.6"]),
        ("1.6.0", "10.2", ["8.0"], "7.5+PTX", ["8.0"]),
        ("2.11.0", "13.0", ["7.0", "9.0"], "9.0+PTX", ["7.0"]),
        ("2.11.0", "13.0", ["7.0"], "", ["7.0"]),
        ("", "11.7", ["8.0"], "", ["8.0"]),
        ("1.13.1", "", ["8.0"], "", ["8.0"]),
        ("1.13.1", "11.7", [], "", []),
        ("1.13.1", "11.7", ["", "a100", "8"], "", []),
    ],
)
def test_lists(version: str, cuda: str, wanted: list[str], value: str, left_out: list[str]) -> None:
    made = arch_list(Torch(version=version, cuda=cuda), wanted)
    assert made.value == value
    assert [capability for capability, _ in made.left_out] == left_out
    assert all(why for _, why in made.left_out)


def test_what_is_left_out_says_what_serves_the_card() -> None:
    torch = Torch(version="1.13.1", cuda="11.7")
    assert arch_list(torch, ["8.9", "9.0"]).left_out == (
        ("8.9", "nvcc 11.7 knows sm_35 to sm_87, not sm_89; code for 8.6 runs there"),
        ("9.0", "nvcc 11.7 knows sm_35 to sm_87, not sm_90; the driver compiles 8.6+PTX at first use"),
    )
    assert arch_list(Torch(version="1.13.1", cuda="11.7"), ["8.9"], "11.8").left_out == (
        ("8.9", "torch 1.13.1 takes no 8.9; code for 8.6 runs there"),
    )


def test_the_compiler_may_be_another_one() -> None:
    torch = Torch(version="2.0.1", cuda="11.7")
    assert arch_list(torch, ["9.0"]).value == "8.6+PTX"
    assert arch_list(torch, ["9.0"], "11.8").value == "9.0+PTX"


@given(st.sampled_from(BUILDS), st.lists(st.sampled_from(CAPABILITIES), min_size=1, max_size=6, unique=True))
def test_every_card_is_served_or_named(torch: Torch, wanted: list[str]) -> None:
    made = arch_list(torch, wanted)
    assert made == arch_list(torch, list(reversed(wanted)))
    entries = [e for e in made.value.split(";") if e]
    names = accepted(torch.version)
    assert names is not None
    assert {e.removesuffix("+PTX") for e in entries} <= set(names)
    assert not entries or entries[-1].endswith("+PTX")
    numbers = [tuple(map(int, e.removesuffix("+PTX").split("."))) for e in entries]
    assert numbers == sorted(set(numbers))
    sass = [f"sm_{e.removesuffix('+PTX').replace('.', '')}" for e in entries]
    ptx = [f"compute_{e.removesuffix('+PTX').replace('.', '')}" for e in entries if e.endswith("+PTX")]
    left_out = dict(made.left_out)
    for capability in wanted:
        word, _ = serving(sass, ptx, capability)
        if capability not in left_out:
            assert word == "exact"
        else:
            assert (word == "none") == ("nothing lower" in left_out[capability])


def test_the_table_of_accepted_names_only_grows_for_cards() -> None:
    rows = [set(row["arches"]) for row in table("extension_arches")["accepts"]]
    for before, after in itertools.pairwise(rows):
        # 10.1 became 11.0 with CUDA 13: the same chip.
        assert before - after <= {"10.1", "10.1a"}
    assert all(re.fullmatch(r"\d+\.\da?", name) for row in rows for name in row)
    assert accepted("1.3.0") is None
    assert accepted("nightly") is None
    assert accepted("2.99.0") == accepted("2.14.0")


@pytest.mark.parametrize(
    ("capability", "nvcc", "entry"),
    [
        ("8.9", "11.3", "8.6"),
        ("8.6", "11.0", "8.0"),
        ("9.0", "11.7", "8.6+PTX"),
        ("8.6", "10.1", "7.5+PTX"),
        ("9.0", "11.8", "9.0"),
        ("7.0", "13.0", ""),
        ("8.0", "unknown", ""),
    ],
)
def test_one_card_and_one_compiler(capability: str, nvcc: str, entry: str) -> None:
    assert capped(capability, nvcc) == entry
