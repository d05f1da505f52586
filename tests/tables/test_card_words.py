"""Names of cards as drivers, virtual machines and people print them."""

import pytest

from repro.tables.gpus import find_gpu, nearest

NAMES = [
    ("GRID A100D-40C", "8.0"),
    ("NVIDIA A100-3-20C", "8.0"),
    ("GRID T4-16Q", "7.5"),
    ("NVIDIA L40S-48Q", "8.9"),
    ("NVIDIA A10G-24Q", "8.6"),
    ("GRID V100S-32Q", "7.0"),
    ("NVIDIA RTXA6000-48Q", "8.6"),
    ("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-12ab)", "8.0"),
    ("NVIDIA RTX A5000 Laptop GPU", "8.6"),
    ("NVIDIA GeForce RTX 5090 Laptop GPU", "12.0"),
    ("NVIDIA RTX 2000 Ada Generation Laptop GPU", "8.9"),
    ("GeForce RTX 2080 with Max-Q Design", "7.5"),
    ("NVIDIA T1000 8GB", "7.5"),
    ("NVIDIA H20-3e", "9.0"),
    ("NVIDIA B300 SXM6 AC", "10.3"),
    ("Orin (nvgpu)", "8.7"),
    ("GH200 144G HBM3e", "9.0"),
    ("T4 (Colab)", "7.5"),
]


@pytest.mark.parametrize(("name", "capability"), NAMES)
def test_a_name(name, capability):
    found = find_gpu(name)
    assert found is not None
    assert found.capability == capability


def test_the_memory_of_a_virtual_card_is_not_known():
    card = find_gpu("NVIDIA A40-8Q")
    assert card is not None
    assert (card.memory_bytes, card.mig) == (None, "vGPU")


@pytest.mark.parametrize(
    "name", ["RTX 6000", "NVIDIA Graphics Device", "AMD Instinct MI300X", "NVIDIA CMP 170HX"]
)
def test_no_card_is_guessed(name):
    assert find_gpu(name) is None


def test_neighbours_are_of_the_same_line():
    assert nearest("T1001")[0] == "t1000"
