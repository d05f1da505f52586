"""Precision and memory asked for against the card, and what makes results differ."""

import pytest

from repro.check import examine, target_from_words
from repro.check.rules.memory import memory_of_card
from repro.check.rules.numerics import on_this_card, since_reference
from repro.check.rules.precision import format_of, precision_of_card
from repro.model.check import Stack, Target, Torch

GIB = 1 << 30
TORCH = Torch(
    version="1.12.1", tag="cu116", cuda="11.6", make="release", sass=["sm_80"], ptx=[], basis="table"
)


def stack(**more) -> Stack:
    return Stack(origin="words", torch=more.pop("torch", TORCH), **more)


def codes(found) -> list[str]:
    return [one.rule for one in found]


@pytest.mark.parametrize(
    ("precision", "capability", "expected"),
    [
        ("bf16", "7.5", ["bf16-emulated"]),
        ("bf16-autocast", "7.0", ["bf16-emulated"]),
        ("torch.bfloat16", "8.0", []),
        ("fp16", "6.0", ["fp16-no-tensor-cores"]),
        ("half", "6.1", ["fp16-no-tensor-cores"]),
        ("fp16", "7.0", []),
        ("tf32", "7.5", ["tf32-no-effect"]),
        ("tf32", "8.6", []),
        ("fp8", "8.0", ["fp8-missing"]),
        ("fp8", "8.9", []),
        ("nvfp4", "9.0", ["fp4-missing"]),
        ("fp4", "12.0", []),
        ("fp32", "6.0", []),
        ("fp64", "6.0", []),
        ("", "6.0", []),
        ("bf16", "", []),
        ("posit16", "8.0", ["precision-unknown"]),
    ],
)
def test_precision_against_the_card(precision, capability, expected) -> None:
    assert codes(precision_of_card(stack(precision=precision), Target(capability=capability))) == expected


def test_words_for_formats() -> None:
    assert format_of("BF16-mixed") == "bf16"
    assert format_of("16-true") == "fp16"
    assert format_of("torch.float32") == "fp32"


@pytest.mark.parametrize(
    ("need", "expected"),
    [
        (None, []),
        (30 * GIB, []),
        (38 * GIB, []),
        (39 * GIB, ["memory-tight"]),
        (41 * GIB, ["memory-too-small"]),
    ],
)
def test_memory_against_the_card(need, expected) -> None:
    target = Target(asked="a100-pcie-40gb", name="A100 40GB", capability="8.0", memory_bytes=40 * GIB)
    assert codes(memory_of_card(stack(memory_bytes=need), target)) == expected


@pytest.mark.parametrize(
    ("gpu", "need", "expected"),
    [
        ("a100", 60 * GIB, ["memory-depends"]),
        ("a100", 20 * GIB, []),
        ("a100", 90 * GIB, ["memory-too-small"]),
        ("a100-80gb", 60 * GIB, []),
    ],
)
def test_a_name_of_several_cards_is_not_taken_for_the_smallest(gpu, need, expected) -> None:
    assert codes(memory_of_card(stack(memory_bytes=need), target_from_words(gpu))) == expected


def test_memory_of_an_unknown_card_is_unknown() -> None:
    (found,) = memory_of_card(stack(memory_bytes=8 * GIB), Target(asked="9.0", capability="9.0"))
    assert found.rule == "memory-unknown"
    assert "nvidia-smi" in found.fix[0]
    assert not list(memory_of_card(stack(memory_bytes=8 * GIB), Target())), "no card is meant"


def test_a_need_above_a_card_of_the_table_fails() -> None:
    target = target_from_words("a100-sxm4-40gb")
    found = examine(stack(memory_bytes=48 * GIB), target)
    assert found.verdict == "will-fail"
    assert "48.0 GiB asked for" in next(f.found for f in found.findings if f.rule == "memory-too-small")


def test_changes_between_two_versions_of_torch() -> None:
    found = list(since_reference(stack(reference="1.11.0"), Target(capability="8.0")))
    assert "tf32-matmul-off" in [one.where for one in found]
    assert "tf32-matmul-off" not in [
        one.where for one in since_reference(stack(reference="1.11.0"), Target(capability="7.0"))
    ]
    assert all(one.severity == "note" and one.source for one in found)
    assert not list(since_reference(stack(reference=""), Target(capability="8.0")))
    assert not list(since_reference(stack(reference="1.12.1"), Target(capability="8.0")))


def test_what_holds_on_this_card_and_not_on_every_other() -> None:
    old = Torch(version="1.11.0", tag="cu113", cuda="11.3")
    a100 = target_from_words("a100-sxm4-40gb")
    names = [one.where for one in on_this_card(stack(torch=old), a100)]
    assert {"tf32-matmul-on", "tf32-cudnn-on", "cuda-rng-launch-geometry"} <= set(names)
    v100 = [one.where for one in on_this_card(stack(torch=old), target_from_words("v100-sxm2-16gb"))]
    assert "tf32-matmul-on" not in v100
    assert "cuda-rng-launch-geometry" in v100
    wave = next(
        one for one in on_this_card(stack(torch=old), a100) if one.where == "cuda-rng-launch-geometry"
    )
    assert "221,184 elements" in wave.found
    assert not list(on_this_card(stack(torch=Torch(version="2.1.0", tag="cpu")), a100))
    assert not list(on_this_card(stack(torch=Torch()), a100))


def test_notes_on_numerics_leave_the_verdict_alone() -> None:
    assert examine(stack(reference="1.11.0"), target_from_words("a100")).verdict == "runs"
