"""What holds for all rules: rows and code agree, and verdicts move the right way when facts change."""

import ast
import itertools
import json
import tomllib
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import repro.check
from repro.check import examine, read_question, stack_and_target, target_from_words, torch_from_table
from repro.check.examine import verdict_of
from repro.check.finding import rule_rows
from repro.check.known.builds import known_releases
from repro.errors import ReproError
from repro.model.check import Stack, Torch

ORDER = ("will-fail", "unknown", "risky", "runs-after-jit", "runs")
SEVERITIES = ("error", "warning", "note", "unknown")
CARDS = ("3.7", "5.2", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0")
SASS = [
    "sm_37",
    "sm_50",
    "sm_60",
    "sm_70",
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_120",
]
PTX = ["compute_37", "compute_70", "compute_86", "compute_90"]


def _codes_in_source():
    """All text constants in `repro/check`, and those among them that are given to `finding`."""
    said, raised = set(), set()
    for path in Path(repro.check.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.add(node.value)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "finding" and node.args:
                raised |= {
                    n.value
                    for n in ast.walk(node.args[0])
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                }
    return said, raised


def test_every_code_has_a_row_and_every_row_is_raised():
    said, raised = _codes_in_source()
    rows = set(rule_rows())
    live = {code for code in rows if code.startswith("live-")}  # raised in the container, by repro/runtime
    assert {code for code in raised if "-" in code} <= rows
    assert rows - live <= said


def test_rows_are_complete():
    for code, row in rule_rows().items():
        assert row.severity in SEVERITIES, code
        assert row.outcome in ORDER, code
        assert 10 < len(row.title.rstrip(".")) == len(row.title), code
        assert len(row.explain.split()) >= 15, code
        assert len(row.source) > 3, code


def test_no_code_stands_in_two_files():
    names = [
        code
        for path in (files("repro") / "data" / "rules").iterdir()
        for code in tomllib.loads(path.read_text("utf-8"))
    ]
    assert len(names) == len(set(names))


def test_severity_and_outcome_go_together():
    """An error fails, an unknown is unknown, a note never stops anything."""
    meant = {"error": {"will-fail"}, "unknown": {"unknown", "risky"}, "note": {"runs", "runs-after-jit"}}
    for code, row in rule_rows().items():
        assert row.outcome in meant.get(row.severity, ORDER), code
        assert row.severity != "warning" or row.outcome != "will-fail", code


def _verdict(sass, ptx, capability, cuda="12.8", driver=""):
    stack = Stack(origin="words", torch=Torch(sass=sass, ptx=ptx, cuda=cuda, basis="arch-list"))
    return examine(stack, target_from_words(capability, driver=driver)).verdict


@given(
    st.sets(st.sampled_from(SASS)),
    st.sets(st.sampled_from(PTX)),
    st.sampled_from(SASS + PTX),
    st.sampled_from(CARDS),
)
@settings(max_examples=300, deadline=None)
def test_more_code_is_never_worse(sass, ptx, more, capability):
    before = _verdict(sorted(sass), sorted(ptx), capability)
    if more.startswith("sm_"):
        after = _verdict(sorted(sass | {more}), sorted(ptx), capability)
    else:
        after = _verdict(sorted(sass), sorted(ptx | {more}), capability)
    assert ORDER.index(after) >= ORDER.index(before)


DRIVERS = [
    "390.46", "418.39", "440.33", "450.80.02", "460.32.03", "470.57.02", "510.39.01", "520.61.05",
    "525.60.13", "535.54.03", "550.54.14", "560.28.03", "570.26", "575.51.03", "580.65.06", "590.44.01",
]  # fmt: skip


@pytest.mark.parametrize("capability", ["7.0", "8.0", "9.0", "12.0"])
@pytest.mark.parametrize(
    ("version", "tag"), [("1.4.0", ""), ("1.13.1", ""), ("2.7.0", "cu128"), ("2.11.0", "")]
)
def test_a_newer_driver_is_never_worse_until_the_last_branch(version, tag, capability):
    last = 580 if capability == "7.0" else 10_000
    stack = Stack(origin="words", torch=torch_from_table(version, tag))
    allowed = [driver for driver in DRIVERS if int(driver.split(".")[0]) <= last]
    verdicts = [ORDER.index(examine(stack, target_from_words(capability, driver=d)).verdict) for d in allowed]
    assert verdicts == sorted(verdicts)
    if last < 1000:
        dropped = examine(stack, target_from_words(capability, driver="590.44.01"))
        assert "driver-dropped-card" in [found.rule for found in dropped.findings]


@pytest.mark.parametrize("capability", CARDS)
def test_the_verdict_depends_on_the_capability_not_on_the_name(capability):
    """A name that no table has is judged like any other card of its capability."""
    for version, tag in (("1.7.1", "cu110"), ("2.1.2", ""), ("2.8.0", "cu128")):
        stack = Stack(origin="words", torch=torch_from_table(version, tag))
        by_number = examine(stack, target_from_words(capability))
        by_name = examine(stack, target_from_words("Contoso Vector 9000", capability))
        assert by_name.verdict == by_number.verdict
        assert [f.rule for f in by_name.findings] == [f.rule for f in by_number.findings]


def test_all_builds_on_all_cards_agree_with_the_plain_rule():
    """The rule in prose, written down a second time: same major, same or lower minor, with exceptions."""
    excluded = tomllib.loads((files("repro") / "data" / "cuda_toolkits.toml").read_text("utf-8"))[
        "cubin_exceptions"
    ]

    def plain(build, capability):
        major, minor = map(int, capability.split("."))
        for name in build.sass:
            number = int(name[3:].rstrip("af"))
            fits = number // 10 == major and number % 10 <= minor and capability not in excluded.get(name, [])
            exact = number == 10 * major + minor
            if exact or (fits and name[-1].isdigit()):
                return True
        return False

    wrong = []
    for release, capability in itertools.product(known_releases().values(), CARDS):
        for build in release.builds:
            stack = Stack(origin="words", torch=torch_from_table(release.version, build.tag))
            rules = {found.rule for found in examine(stack, target_from_words(capability)).findings}
            native = bool(rules & {"torch-code-exact", "torch-code-compatible"})
            if native != plain(build, capability):
                wrong.append((release.version, build.tag, capability, rules))
    assert not wrong


def test_every_fix_for_missing_code_has_code():
    """Whatever we say to lock, for any build and card, runs there."""
    for release, capability in itertools.product(known_releases().values(), CARDS):
        for build in release.builds:
            stack = Stack(origin="words", torch=torch_from_table(release.version, build.tag))
            target = target_from_words(capability)
            for found in examine(stack, target).findings:
                for fix in found.fix if found.rule == "torch-no-code" else ():
                    assert fix.startswith("lock torch=="), fix
                    version, _, tag = fix.split()[1].rstrip(":").removeprefix("torch==").partition("+")
                    again = examine(Stack(origin="words", torch=torch_from_table(version, tag)), target)
                    assert again.verdict in ("runs", "risky"), (fix, again.findings)
                    assert "torch-no-code" not in [f.rule for f in again.findings]


@given(st.lists(st.sampled_from(sorted(rule_rows()))))
def test_the_verdict_is_the_worst_outcome(codes):
    found = [repro.check.finding.finding(code, "x") for code in codes]
    worst = min((ORDER.index(rule_rows()[code].outcome) for code in codes), default=ORDER.index("runs"))
    assert verdict_of(found) == ORDER[worst]


WORDS = st.sampled_from(
    [
        "torch", "pytorch", "==", "=", ">=", "~=", "!=1.*", "1.10.1", "2.7.0", "2.99", "+cu118", "+cpu",
        "cu12", "CUDA 12.", "CUDA 99.9", "nightly", "container", "vendor", "(", ")", "[", "]", "dev",
        "cudatoolkit=11.3", "pytorch-cuda=", "compiled from source", "conda", "wheel", "for", "nvcc 11.",
        "TORCH_CUDA_ARCH_LIST=8.0;", "sm_999", "compute_", "MIG", "\x00", "²", "٣.٤", "\n", "*", "-1",
        "a0+git", "library path",
    ]
)  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=30), st.lists(WORDS, max_size=8).map("".join), st.lists(WORDS, max_size=8).map(" ".join)
)
INPUT = st.fixed_dictionaries(
    {},
    optional={
        "python": TEXT | st.none(),
        "platform": st.fixed_dictionaries(
            {},
            optional={
                "system": TEXT,
                "machine": st.sampled_from(["x86_64", "aarch64", "riscv64"]),
                "glibc": TEXT,
                "detail": TEXT,
            },
        ),
        "torch": st.fixed_dictionaries({}, optional={"spec": TEXT, "index": TEXT | st.none()}),
        "extras": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["numpy", "flash-attn", "torchvision", "x"]) | TEXT},
                optional={"version": TEXT | st.none(), "how": TEXT},
            ),
            max_size=2,
        ),
        "gpu": st.none()
        | TEXT
        | st.fixed_dictionaries({"name": TEXT}, optional={"cc": st.sampled_from(CARDS) | TEXT}),
        "driver": st.none() | TEXT | st.sampled_from(DRIVERS),
        "driver_cuda": st.none() | TEXT | st.sampled_from(["11.4", "12.2", "13"]),
        "precision": st.none() | TEXT,
        "arch_list": st.none() | TEXT | st.lists(st.sampled_from(SASS + PTX) | TEXT),
        "host_probe": st.none() | st.fixed_dictionaries({"cuda_init_error": st.integers() | st.none()}),
    },
)


@given(INPUT)
@settings(max_examples=1500, deadline=None)
def test_any_words_give_an_answer_or_our_own_error(document):
    try:
        report = examine(*stack_and_target(read_question(document)))
    except ReproError:
        return
    assert report.verdict in ORDER
    json.loads(msgspec.json.encode(report))
