"""Verdict per container, against what the fixtures were listed to hold, and what must hold for any file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.check.code.containers import (
    WORDS,
    code_of_torch,
    compiles,
    driver_for,
    file_fit,
    fit,
    fit_group,
    fits,
    in_words,
    isa_needed,
    targets,
    torch_fits,
    usable,
)
from repro.model.binary import BinaryFacts, ContainerGroup, GpuCode
from repro.model.check import Target
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.walk import bare, walk
from repro.scan.reader import FileBytes

FIXTURES = Path(__file__).parent.parent / "fixtures" / "fatbin"
TRUTH = json.loads((FIXTURES.parent / "fatbin_truth.json").read_text("utf-8"))
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))["fixtures"]
JUDGED = {name: row for name, row in EXPECTED.items() if "verdict_per_container" in row}

SECTIONS = {".nv_fatbin": "exec", "__nv_relfatbin": "reloc", "file": "exec"}


def image(text: str, isa: str = "") -> GpuCode:
    kind, _, arch = text.partition("_")
    return GpuCode(kind="ptx" if kind == "compute" else "sass", arch=arch, isa=isa)


def group(
    *names: str, count: int = 1, section="exec", judged: bool = True, wrapper: int = 1, isa: str = "8.0"
):
    images = [image(name, isa if name.startswith("compute") else "") for name in names]
    return ContainerGroup(section=section, judged=judged, wrapper=wrapper, images=images, count=count)


def binary(*found: ContainerGroup, path: str = "pkg/_C.so", owner: str = "pkg") -> BinaryFacts:
    return BinaryFacts(path=path, bytes=1, owner=owner, version="1.0", groups=list(found))


def target(capability: str, **more: str) -> Target:
    return Target(asked="card", capability=capability, **more)


def dotted(sm: str) -> str:
    digits = sm.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}"


def from_listing(row: dict) -> BinaryFacts:
    """The file as the listing in `expected.json` describes it, without our reader."""
    return binary(
        *(
            ContainerGroup(
                section=SECTIONS[container["where"]],
                judged=container["judged"],
                wrapper=container["wrapper_version"] or 0,
                images=[
                    GpuCode(kind=i["kind"], arch=i["arch"], isa=i["version"] if i["kind"] == "ptx" else "")
                    for i in container["images"]
                ],
                count=1,
            )
            for container in row["containers"]
        )
    )


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_verdicts_of_the_listed_containers(name: str) -> None:
    facts = from_listing(JUDGED[name])
    for sm, counts in JUDGED[name]["verdict_per_container"].items():
        assert file_fit(facts, target(dotted(sm))).containers == counts, sm


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_verdicts_of_the_files_as_our_reader_sees_them(name: str) -> None:
    path = FIXTURES / name
    with FileBytes(path) as reader:
        code = bare("fatbin", reader.read(0, 64), reader) if path.suffix == ".fatbin" else walk(reader)
    facts = binary(*groups(code))
    for sm, counts in JUDGED[name]["verdict_per_container"].items():
        assert file_fit(facts, target(dotted(sm))).containers == counts, sm


def test_every_fixture_with_code_is_judged() -> None:
    assert set(EXPECTED) - set(JUDGED) == {"decoy.so"}
    assert len(JUDGED) >= 9


@pytest.mark.parametrize(
    ("code", "capability", "word"),
    [
        ("sm_80", "8.0", "exact"),
        ("sm_80", "8.6", "compat"),
        ("sm_80", "8.9", "compat"),
        ("sm_86", "8.0", "none"),
        ("sm_86", "8.9", "compat"),
        ("sm_86", "9.0", "none"),
        ("sm_70", "7.5", "compat"),
        ("sm_90", "10.0", "none"),
        ("sm_100", "12.0", "none"),
        ("sm_100", "10.3", "compat"),
        ("sm_90a", "9.0", "exact"),
        ("sm_100a", "10.3", "none"),
        ("sm_100f", "10.3", "compat"),
        ("sm_103f", "10.0", "none"),
        ("sm_120f", "12.1", "compat"),
        ("sm_80", "8.7", "none"),
        ("sm_87", "8.7", "exact"),
        ("sm_87", "8.9", "none"),
        ("sm_86", "8.7", "none"),
        ("sm_72", "7.5", "none"),
        ("sm_62", "6.2", "exact"),
        ("sm_101", "11.0", "exact"),
        ("sm_110", "10.1", "exact"),
        ("compute_37", "8.0", "jit"),
        ("compute_90", "8.9", "none"),
        ("compute_86", "12.0", "jit"),
        ("compute_90a", "9.0", "jit"),
        ("compute_90a", "10.0", "none"),
        ("compute_100f", "10.3", "jit"),
        ("compute_100f", "12.0", "none"),
        ("sm_80", "", "none"),
    ],
)
def test_one_image(code: str, capability: str, word: str) -> None:
    assert fit(image(code), capability) == word


def test_intermediate_code_and_unknown_kinds_serve_nothing() -> None:
    assert fit(GpuCode(kind="lto", arch="80"), "8.0") == "none"
    assert fit(GpuCode(kind="other", arch="80"), "8.0") == "none"


def test_the_union_is_not_the_verdict() -> None:
    facts = binary(group("sm_80"), group("sm_70"))
    assert file_fit(facts, target("8.0")).containers == {"exact": 1, "none": 1}


def test_relinking_needs_every_object() -> None:
    linked = group("sm_80", wrapper=2)
    whole = [group("compute_90", section="reloc"), group("sm_90", section="reloc")]
    lacking = [*whole, group("sm_80", section="reloc")]
    assert fit_group(linked, "9.0", whole) == "jitlink"
    assert fit_group(linked, "9.0", lacking) == "none"
    assert fit_group(group("sm_80"), "9.0", whole) == "none", "an ordinary container is not linked anew"
    assert fit_group(linked, "9.0") == "none"
    assert fit_group(linked, "8.0", lacking) == "exact"
    assert fit_group(linked, "9.0", [GROUP_OF_LTO]) == "none"


GROUP_OF_LTO = ContainerGroup(
    section="reloc", judged=False, wrapper=1, images=[GpuCode(kind="lto", arch="80")], count=1
)


def test_only_judged_executable_containers_count() -> None:
    facts = binary(
        group("sm_80", count=3),
        group("sm_52", judged=False),
        group("sm_52", section="data"),
        group("compute_52", section="reloc"),
    )
    assert file_fit(facts, target("8.0")).containers == {"exact": 3}
    assert targets(facts) == ["sm_80"]


def test_a_file_without_containers_is_not_told() -> None:
    assert fits([binary(), binary(group("sm_80"), path="b.so")], target("8.0")) == [
        file_fit(binary(group("sm_80"), path="b.so"), target("8.0"))
    ]


def torch_1_13_1() -> list[BinaryFacts]:
    """The largest library of torch 1.13.1 in a mix that its counts allow, and a vendor's beside it."""
    kernels = binary(
        group("sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", count=221),
        group("sm_35", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", count=50),
        group("sm_70", "sm_75", "sm_80", "sm_86", count=3),
        group("sm_75", "sm_80", "sm_86", count=1),
        group("sm_80", "sm_86", count=4),
        group("sm_80", count=8),
        group("sm_90a", count=15),
        path="torch/lib/libtorch_cuda_cu.so",
        owner="torch",
    )
    blas = binary(group("sm_80"), group("sm_35"), path="torch/lib/libcublas.so.11", owner="torch")
    return [blas, kernels]


@pytest.mark.parametrize(
    ("capability", "counts"),
    [
        ("8.0", {"exact": 287, "none": 15}),
        ("8.6", {"exact": 279, "compat": 8, "none": 15}),
        ("8.9", {"compat": 287, "none": 15}),
        ("10.0", {"none": 302}),
    ],
)
def test_torch_1_13_1_by_container(capability: str, counts: dict[str, int]) -> None:
    (found,) = torch_fits(torch_1_13_1(), target(capability))
    assert found.containers == counts
    assert usable(found) == 302 - counts["none"]
    assert in_words(found).endswith("of 302 containers")


def test_code_of_torch_leaves_out_what_few_containers_have() -> None:
    sass, ptx = code_of_torch(torch_1_13_1()) or ([], [])
    assert sass == ["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"]
    assert ptx == []
    assert code_of_torch([binary(group("sm_80"))]) is None


def test_torch_is_told_first() -> None:
    files = [binary(group("sm_80"), path="a/a.so"), *torch_1_13_1()]
    assert fits(files, target("8.0"))[0].path == "torch/lib/libtorch_cuda_cu.so"


def test_the_isa_is_that_of_what_the_driver_would_take() -> None:
    facts = binary(
        ContainerGroup(
            section="exec",
            judged=True,
            wrapper=1,
            count=1,
            images=[image("compute_52", "6.0"), image("compute_80", "7.0")],
        ),
        group("sm_90", "compute_90", isa="8.8"),
    )
    assert isa_needed(facts, "9.0") == "7.0", "the second container has machine code"
    assert isa_needed(facts, "10.0") == "8.8"
    assert isa_needed(facts, "7.5") == "6.0"
    assert isa_needed(binary(group("sm_80")), "8.0") == ""


def test_the_isa_of_relinked_code() -> None:
    facts = binary(group("sm_80", wrapper=2), group("compute_90", section="reloc", isa="9.0"))
    assert isa_needed(facts, "10.0") == "9.0"


def test_a_driver_knows_the_language_of_its_own_cuda() -> None:
    assert compiles("8.8", target("9.0", driver="525.60.13")) is False
    assert compiles("8.8", target("9.0", driver="575.57.08")) is True
    assert compiles("8.8", target("9.0", driver_cuda="12.8")) is False
    assert compiles("8.8", target("9.0", driver_cuda="12.9")) is True
    assert compiles("8.8", target("9.0")) is None
    assert compiles("99.9", target("9.0", driver="575.57.08")) is None
    assert driver_for("8.8").startswith("driver >= 575.")
    assert driver_for("99.9") == ""


def test_the_largest_real_listing_has_no_container_without_a_word() -> None:
    """Counts of a real file: containers of xformers 0.0.16 that hold all of its seven targets."""
    (row,) = [
        f
        for wheel in TRUTH["wheels"]
        if wheel["wheel"].startswith("xformers-0.0.16")
        for f in wheel["files"]
        if f["path"].endswith("_C_flashattention.so")
    ]
    names = [f"sm_{arch}" for arch in row["sass"]]
    (count,) = set(row["sass"].values())
    facts = binary(group(*names, count=count))
    assert file_fit(facts, target("9.0")).containers == {"none": 8}
    assert file_fit(facts, target("8.9")).containers == {"compat": 8}


CAPABILITIES = st.sampled_from(
    ["5.2", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1"]
)
ARCHS = [
    "35",
    "52",
    "60",
    "70",
    "75",
    "80",
    "86",
    "87",
    "89",
    "90",
    "90a",
    "100",
    "100a",
    "100f",
    "103f",
    "120",
    "120f",
]
CODES = st.builds(GpuCode, kind=st.sampled_from(["sass", "ptx", "lto"]), arch=st.sampled_from(ARCHS))
GROUPS = st.builds(
    ContainerGroup,
    section=st.sampled_from(["exec", "reloc"]),
    judged=st.just(True),
    wrapper=st.sampled_from([1, 2]),
    images=st.lists(CODES, min_size=1, max_size=4),
    count=st.integers(1, 9),
)


@given(st.lists(CODES, max_size=5), CAPABILITIES)
def test_an_exact_image_more_never_worsens_a_container(images: list[GpuCode], capability: str) -> None:
    before = ContainerGroup(section="exec", judged=True, wrapper=1, images=images, count=1)
    exact = GpuCode(kind="sass", arch=capability.replace(".", ""))
    after = ContainerGroup(section="exec", judged=True, wrapper=1, images=[*images, exact], count=1)
    assert fit_group(after, capability) == "exact"
    assert WORDS.index(fit_group(after, capability)) <= WORDS.index(fit_group(before, capability))


@given(st.lists(CODES, max_size=5), CODES, CAPABILITIES)
def test_any_image_more_never_worsens_a_container(
    images: list[GpuCode], more: GpuCode, capability: str
) -> None:
    def word(code: list[GpuCode]) -> int:
        group = ContainerGroup(section="exec", judged=True, wrapper=1, images=code, count=1)
        return WORDS.index(fit_group(group, capability))

    assert word([*images, more]) <= word(images)


@given(st.lists(GROUPS, max_size=6), CAPABILITIES, st.randoms(use_true_random=False))
def test_neither_order_of_images_nor_of_containers_matters(found, capability, random) -> None:
    def shuffled(items: list) -> list:
        return random.sample(items, len(items))

    mixed = [
        ContainerGroup(
            section=g.section, judged=True, wrapper=g.wrapper, images=shuffled(g.images), count=g.count
        )
        for g in shuffled(found)
    ]
    assert file_fit(binary(*found), target(capability)) == file_fit(binary(*mixed), target(capability))


@given(st.lists(GROUPS, max_size=6), CAPABILITIES)
def test_every_judged_container_gets_one_word(found: list[ContainerGroup], capability: str) -> None:
    counted = file_fit(binary(*found), target(capability)).containers
    assert sum(counted.values()) == sum(g.count for g in found if g.section == "exec")


@given(CODES, CAPABILITIES)
def test_machine_code_never_crosses_a_major(code: GpuCode, capability: str) -> None:
    if code.kind == "sass" and int(code.arch.rstrip("af")) // 10 != int(capability.split(".")[0]):
        assert fit(code, capability) == "none"
