"""Which card a name means: spellings of nvidia-smi, of rental sites and of people."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.errors import ReproError
from repro.tables.gpus import (
    all_gpus,
    capability_of,
    find_gpu,
    gpu_for,
    members,
    nearest,
    parse_target,
)
from repro.tables.names import mig_profile

NAMES = {
    "a100-pcie-40gb": ["A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB", "A100 40GB PCIe", "A100 PCIe 40 GB"],
    "a100-sxm4-40gb": ["NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB", "a100_sxm_40gb", "A100-40GB-SXM4"],
    "a100-pcie-80gb": ["NVIDIA A100 80GB PCIe", "A100 80GB PCIe", "A100 PCIe 80G", "A100-80GB-PCIe"],
    "a100-sxm4-80gb": ["A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "A100 SXM 80GB", "A100 80GB SXM4"],
    "rtx-a6000": ["a6000", "RTX A6000", "NVIDIA RTX A6000", "rtx_a6000", "RTXA6000", "A6000 48GB"],
    "a40": ["A40", "NVIDIA A40", "a40 48gb"],
    "a10": ["A10", "NVIDIA A10", "A10 24GB"],
    "a10g": ["A10G", "NVIDIA A10G", "a10g 24GB"],
    "rtx-3090": ["3090", "RTX 3090", "RTX3090", "GeForce RTX 3090", "NVIDIA GeForce RTX 3090", "GTX 3090"],
    "rtx-3090-ti": ["3090 Ti", "RTX 3090Ti", "NVIDIA GeForce RTX 3090 Ti"],
    "rtx-3080": ["GeForce RTX 3080", "3080", "RTX 3080 10GB"],
    "rtx-3050-laptop-gpu": ["NVIDIA GeForce RTX 3050 Laptop GPU", "RTX 3050 Laptop"],
    "rtx-2080-ti": ["RTX 2080 Ti", "GeForce RTX 2080 Ti", "2080ti"],
    "gtx-1080-ti": ["GeForce GTX 1080 Ti", "1080 Ti", "GTX1080Ti"],
    "rtx-4090": ["4090", "RTX 4090", "RTX4090", "rtx_4090", "NVIDIA GeForce RTX 4090", "RTX 4090 24GB"],
    "rtx-4090-d": ["RTX 4090 D", "4090D", "NVIDIA GeForce RTX 4090 D"],
    "rtx-6000-ada": ["RTX 6000 Ada", "6000 Ada", "RTX6000Ada", "NVIDIA RTX 6000 Ada Generation"],
    "l4": ["L4", "NVIDIA L4"],
    "l40": ["L40", "NVIDIA L40"],
    "l40s": ["l40s", "NVIDIA L40S", "L40S 48GB"],
    "l20": ["L20", "NVIDIA L20"],
    "h100-pcie": ["H100 PCIe", "NVIDIA H100 PCIe", "h100-pcie-80gb"],
    "h100-sxm": ["H100 SXM", "H100 SXM5", "H100 SXM5 80GB", "NVIDIA H100 80GB HBM3", "H100_SXM"],
    "h100-nvl": ["H100 NVL", "NVIDIA H100 NVL", "H100 NVL 94GB", "H100 94GB"],
    "h200": ["h200", "NVIDIA H200", "H200 SXM", "H200 SXM5 141GB"],
    "h200-nvl": ["H200 NVL", "NVIDIA H200 NVL"],
    "h20": ["H20", "NVIDIA H20", "H20 96GB"],
    "h800": ["NVIDIA H800", "H800 SXM"],
    "a800": ["NVIDIA A800", "A800 80GB", "A800 SXM4"],
    "gh200": ["NVIDIA GH200", "NVIDIA GH200 480GB", "GH200 96GB"],
    "b200": ["B200", "NVIDIA B200", "B200 SXM", "HGX B200"],
    "b300": ["NVIDIA B300", "B300 SXM"],
    "rtx-5090": ["5090", "RTX 5090", "NVIDIA GeForce RTX 5090", "RTX5090"],
    "rtx-5090-d": ["NVIDIA GeForce RTX 5090 D", "RTX 5090D"],
    "rtx-pro-5000-blackwell": ["RTX PRO 5000", "NVIDIA RTX PRO 5000 Blackwell"],
    "rtx-pro-6000-blackwell-server": ["NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 S"],
    "rtx-pro-6000-blackwell-workstation": ["RTX PRO 6000 WS", "RTX PRO 6000 Blackwell Workstation Edition"],
    "rtx-pro-6000-blackwell-max-q": ["RTX PRO 6000 Max-Q", "RTX PRO 6000 Blackwell Max-Q"],
    "t4": ["T4", "Tesla T4", "NVIDIA T4", "t4 16GB"],
    "v100-sxm2-16gb": ["V100-SXM2-16GB", "Tesla V100-SXM2-16GB", "V100 SXM2 16GB"],
    "v100-pcie-32gb": ["Tesla V100-PCIE-32GB", "V100 32GB PCIe"],
    "v100s-pcie-32gb": ["V100S", "Tesla V100S", "Tesla V100S-PCIE-32GB"],
    "p100-pcie-16gb": ["Tesla P100-PCIE-16GB", "P100 PCIe 16GB"],
    "quadro-rtx-6000": ["Quadro RTX 6000"],
    "quadro-rtx-8000": ["Quadro RTX 8000", "RTX 8000"],
    "k80": ["Tesla K80", "K80"],
    "gb10": ["NVIDIA GB10", "GB10"],
}  # fmt: skip

OFFERS = {
    "a100-80gb": ["nvidia-a100-80gb", "A100-80GB", "8x A100 80GB", "A100-80GB x8"],
    "a100-sxm4": ["gpu_1x_a100_sxm4", "A100 SXM4", "A100-SXM"],
    "a100-sxm4-80gb": ["8xA100-SXM4-80GB", "A100 80GB SXM x 8"],
    "h100": ["H100!", "8xH100", "2x H100"],
    "h100-sxm": ["gpu_8x_h100_sxm5", "H100 SXM"],
    "l4": ["nvidia-l4", "1x L4"],
    "t4": ["nvidia-tesla-t4"],
    "gh200": ["gpu_1x_gh200", "GH200 SXM"],
    "gb10": ["DGX Spark"],
    "rtx-6000-ada": ["RTX 6000Ada"],
    "quadro-rtx-6000": ["Q RTX 6000"],
    "rtx-4070-ti-super": ["RTX 4070S Ti"],
    "rtx-4080-super": ["RTX 4080S"],
    "gtx-1660-super": ["GTX 1660 S"],
    "gtx-980": ["GTX 980"],
}

# key, capability, smallest memory in MiB, number of products
FAMILIES = {
    "a100": ("a100", "8.0", 40960, 4),
    "NVIDIA A100": ("a100", "8.0", 40960, 4),
    "A100-80GB": ("a100-80gb", "8.0", 81920, 2),
    "A100 40G": ("a100-40gb", "8.0", 40960, 2),
    "A100 SXM": ("a100-sxm4", "8.0", 40960, 2),
    "h100": ("h100", "9.0", 81559, 3),
    "NVIDIA H100": ("h100", "9.0", 81559, 3),
    "H100 80GB": ("h100-80gb", "9.0", 81559, 2),
    "V100": ("v100", "7.0", 16384, 4),
    "Tesla V100-32GB": ("v100-32gb", "7.0", 32768, 2),
    "P100": ("p100", "6.0", 12288, 3),
    "P100 16GB": ("p100-16gb", "6.0", 16384, 2),
    "RTX PRO 6000": ("rtx-pro-6000-blackwell", "12.0", 97887, 3),
    "NVIDIA RTX PRO 6000 Blackwell": ("rtx-pro-6000-blackwell", "12.0", 97887, 3),
}


@pytest.mark.parametrize(("key", "name"), [(key, name) for key, names in NAMES.items() for name in names])
def test_a_name_in_any_spelling(key: str, name: str) -> None:
    for spelled in (name, name.upper(), name.lower(), f"  {name} "):
        found = find_gpu(spelled)
        assert found is not None
        assert (found.key, found.stands_for, found.mig) == (key, (), "")


@pytest.mark.parametrize(("key", "name"), [(key, name) for key, names in OFFERS.items() for name in names])
def test_a_name_as_offers_of_rented_machines_spell_it(key: str, name: str) -> None:
    found = find_gpu(name)
    assert found is not None
    assert found.key == key


@pytest.mark.parametrize("name", FAMILIES)
def test_a_name_of_several_products_gives_what_they_share(name: str) -> None:
    key, capability, smallest, count = FAMILIES[name]
    found = find_gpu(name)
    assert found is not None
    assert (found.key, found.capability, found.memory_mib[0]) == (key, capability, smallest)
    assert found.memory_bytes == smallest * 2**20
    products = members(found)
    assert [gpu.key for gpu in products] == list(found.stands_for)
    assert len(products) == count
    assert f"one of {count} products" in found.note
    assert all(gpu.capability == capability for gpu in products)
    assert find_gpu(found.key) == found


def test_figures_of_several_products_are_those_that_all_reach() -> None:
    h100 = find_gpu("h100")
    assert h100 is not None
    assert (h100.memory_bandwidth_gb_s, h100.bf16_tflops, h100.min_driver_branch) == (2000, 756, "R525")
    assert (h100.multiprocessors, h100.rng_wave_elements) == (None, None)
    assert h100.tensor_formats == ("tf32", "bf16", "fp16", "fp8")


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.key)
def test_every_name_of_the_table_means_its_row(gpu: object) -> None:
    for name in (gpu.key, gpu.product, *gpu.device_names, *gpu.aliases):  # type: ignore[attr-defined]
        assert find_gpu(name) == gpu
        assert find_gpu(f"NVIDIA {name.removeprefix('NVIDIA ')}") == gpu


@pytest.mark.parametrize(
    ("name", "key", "profile"),
    [
        ("A100-SXM4-40GB MIG 1g.5gb", "a100-sxm4-40gb", "1g.5gb"),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "a100-sxm4-80gb", "3g.40gb"),
        ("NVIDIA A100 MIG", "a100", "MIG"),
        ("H100 SXM (MIG 1g.10gb+me)", "h100-sxm", "1g.10gb+me"),
        ("  A100-SXM4-40GB   MIG   1g.5gb ", "a100-sxm4-40gb", "1g.5gb"),
        ("h200 mig-2g.35gb", "h200", "2g.35gb"),
    ],
)
def test_a_slice_runs_the_same_code_in_less_memory(name: str, key: str, profile: str) -> None:
    found, whole = find_gpu(name), find_gpu(key)
    assert found is not None
    assert whole is not None
    assert (found.key, found.mig, found.capability) == (key, profile, whole.capability)
    assert (found.memory_bytes, found.memory_mib, found.multiprocessors, found.bf16_tflops) == (
        None,
        (),
        None,
        None,
    )
    assert found.tensor_formats == whole.tensor_formats


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("sm_90", "9.0"),
        ("sm90", "9.0"),
        ("SM_120", "12.0"),
        ("sm_90a", "9.0"),
        ("compute_86", "8.6"),
        ("9.0", "9.0"),
        ("12.0", "12.0"),
        ("cc 9.0", "9.0"),
        ("CC=8.6", "8.6"),
        ("compute capability 8.9", "8.9"),
        ("Compute Capability: 8.9", "8.9"),
        (" 7.5 ", "7.5"),
        ("A100", ""),
        ("90", ""),
        ("535.104", ""),
        ("0.0", ""),
        ("", ""),
    ],
)
def test_a_capability_alone(text: str, capability: str) -> None:
    assert capability_of(text) == capability
    if capability:
        found = find_gpu(text)
        assert found is not None
        assert (found.key, found.capability, found.memory_bytes) == ("", capability, None)
        assert capability in found.product


def test_a_capability_says_what_all_its_cards_share() -> None:
    found = find_gpu("sm_90")
    assert found is not None
    assert (found.min_driver_branch, found.min_cuda_native, found.architecture) == ("R525", "11.8", "Hopper")
    assert found.tensor_formats == ("tf32", "bf16", "fp16", "fp8")
    new = find_gpu("sm_150")
    assert new is not None
    assert (new.capability, new.tensor_formats, new.min_driver_branch) == ("15.0", None, "")


@pytest.mark.parametrize(
    ("text", "name", "capability"),
    [
        ("Some New Card (9.0)", "Some New Card", "9.0"),
        ("Some New Card=9.0", "Some New Card", "9.0"),
        ("Some New Card, sm_90", "Some New Card", "9.0"),
        ("Some New Card cc 9.0", "Some New Card", "9.0"),
        ("Some New Card (compute capability 9.0)", "Some New Card", "9.0"),
        ("Some New Card [sm_103a]", "Some New Card", "10.3"),
        ("GeForce RTX 30xx (8.6)", "GeForce RTX 30xx", "8.6"),
        ("NVIDIA A100 (8.0)", "NVIDIA A100", "8.0"),
        ("sm_90", "", "9.0"),
        ("  A100   80GB ", "A100 80GB", ""),
        ("H100 (SXM)", "H100 (SXM)", ""),
        ("", "", ""),
    ],
)
def test_a_name_with_a_capability(text: str, name: str, capability: str) -> None:
    assert parse_target(text) == (name, capability)
    if name.startswith("Some"):
        found = find_gpu(text)
        assert found is not None
        assert (found.key, found.product, found.capability) == ("", name, capability)


def test_a_capability_beside_a_known_name_must_be_its_own() -> None:
    agrees, differs = find_gpu("NVIDIA A100-SXM4-40GB (8.0)"), find_gpu("A100-SXM4-40GB (9.0)")
    assert agrees == find_gpu("A100-SXM4-40GB")
    assert differs is not None
    assert (differs.key, differs.capability, differs.memory_bytes) == ("", "9.0", None)
    assert differs.note == "the table has A100 SXM4 40GB at 8.0"


def test_an_unusual_memory_leaves_the_rest_known() -> None:
    doubled, grace = find_gpu("RTX 4090 48GB"), find_gpu("NVIDIA GH200 480GB")
    assert doubled is not None
    assert (doubled.key, doubled.capability, doubled.memory_bytes) == ("", "8.9", None)
    assert "no such card with that memory" in doubled.note
    assert grace is not None
    assert (grace.key, grace.memory_bytes, grace.note) == ("gh200", None, "")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("l40x", "l40"),
        ("A100 SMX4 80GB", "a100-sxm4-80gb"),
        ("RTX 409O", "rtx-4090"),
        ("H1000", "h100-sxm"),
        ("RTX 6000", "quadro-rtx-6000"),
        ("RTX 6000", "rtx-6000-ada"),
    ],
)
def test_an_unknown_name_has_neighbours(text: str, near: str) -> None:
    assert find_gpu(text) is None
    assert near in nearest(text)
    with pytest.raises(ReproError) as caught:
        gpu_for(text)
    assert caught.value.code == "gpu-unknown"
    assert caught.value.exit_status == 2
    assert near in caught.value.found[0]
    assert caught.value.tries[0] == f"repro gpus {nearest(text)[0]}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "gpu",
        "NVIDIA",
        "80GB",
        "SXM",
        "Ada",
        "Radeon RX 7900 XTX",
        "MI300X",
        "NVIDIA Graphics Device",
    ],
)
def test_what_names_no_card_is_none(text: str) -> None:
    assert find_gpu(text) is None
    with pytest.raises(ReproError, match="no card is known"):
        gpu_for(text)


PIECES = [
    "A100",
    "MIG",
    "1g.5gb",
    "80GB",
    "(9.0)",
    "=",
    "sm_",
    "90",
    "RTX",
    "6000",
    "Ada",
    "NVIDIA",
    "-",
    "(",
]
pieces = st.sampled_from([*PIECES, "9.0", "٣", " ", "\x00", "\n"])


@settings(deadline=None, max_examples=400)
@given(
    st.one_of(st.text(max_size=60), st.lists(pieces, max_size=8).map(" ".join), st.lists(pieces).map("".join))
)
def test_any_text_is_answered(text: str) -> None:
    found = find_gpu(text)
    name, capability = parse_target(text)
    mig_profile(text)
    assert all(isinstance(key, str) for key in nearest(text))
    if found is None:
        assert not capability
    else:
        assert found.capability == (capability or found.capability)
        assert found.product
    assert len(name) <= len(text)


@pytest.mark.parametrize("text", ["-" * 50_000, "(" * 50_000, " " * 50_000, "a " * 50_000])
def test_a_page_of_text_is_no_card(text: str) -> None:
    assert find_gpu(text) is None
    assert parse_target(text)[1] == ""
    assert nearest(text[:400]) is not None
