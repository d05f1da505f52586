"""The worked cases beside the tables: inputs, and what holds between torch, card and driver."""

import tomllib
from pathlib import Path

import pytest

from repro.check import examine, target_from_words, torch_from_table
from repro.model.check import Stack

FILE = Path(__file__).parent.parent / "cases" / "compat" / "compat_cases.toml"
CASES = tomllib.loads(FILE.read_text("utf-8"))["case"]

# Word of the case: verdicts that mean it, and the rule that must give them.
MEANING = {
    "native": (("runs",), "torch-code-exact"),
    "compatible": (("runs",), "torch-code-compatible"),
    "jit": (("runs-after-jit", "risky"), "torch-code-from-ptx"),
    "no_kernel": (("will-fail",), "torch-no-code"),
    "driver_too_old": (("will-fail",), "driver-too-old"),
    "driver_dropped_gpu": (("will-fail",), "driver-dropped-card"),
}


def _name(case):
    return "-".join([case["torch"], case["variant"], case["gpu"], case.get("driver", "any")])


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_case(case):
    stack = Stack(origin="words", torch=torch_from_table(case["torch"], case["variant"]))
    report = examine(stack, target_from_words(case["gpu"], driver=case.get("driver", "")))
    verdicts, rule = MEANING[case["verdict"]]
    assert report.verdict in verdicts, report.findings
    assert rule in [found.rule for found in report.findings]


def test_all_are_here():
    assert len(CASES) == 36
    assert {case["verdict"] for case in CASES} == set(MEANING)


def test_card_of_a_later_branch_is_told():
    """The build accepts R450, but no driver of that branch lists an H100: the evidence says so too."""
    stack = Stack(origin="words", torch=torch_from_table("2.0.1", "cu118"))
    report = examine(stack, target_from_words("h100-sxm", driver="450.80.02"))
    assert [found.needed for found in report.findings if found.rule == "driver-before-card"] == [
        "driver >= 525"
    ]
