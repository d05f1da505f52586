"""The casebook of public reports: every row gets its verdict, and for a reason that means the same."""

import json
from fnmatch import fnmatch
from pathlib import Path

import pytest

from repro.check import examine, questions, read_question, stack_and_target
from repro.check.finding import rule_rows

CASES = Path(__file__).parent.parent / "cases" / "compat" / "compat.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]

WORDS = {
    "runs": "ok",
    "risky": "risky",
    "runs-after-jit": "risky",
    "will-fail": "incompatible",
    "unknown": "unknown",
}

# What a tag of the casebook is called here. Some, as `wrong-advice`, describe the report and give no reason.
REASONS = {
    "arch": ("torch-no-code*", "torch-code-from-ptx", "torch-ptx-inferred", "torch-text-at-best",
             "torch-libraries-before-card", "torch-unknown", "torch-undecided"),
    "ptx": ("torch-code-from-ptx", "torch-ptx-inferred", "driver-before-ptx"),
    "library": ("known-fault", "torch-libraries-before-card"),
    "library-bug": ("known-fault",),
    "driver": ("driver-*", "forward-compatibility-consumer"),
    "forward-compat": ("forward-compatibility-consumer",),
    "fabric-manager": ("host-fabric-manager",),
    "mig": ("known-fault",),
    "extension-arch": ("extra-no-code", "extra-needs-newer-card", "extra-other-card", "extra-known-fault",
                       "extra-code-*", "extra-jit", "build-without-gpu", "nvcc-target"),
    "extension-missing": ("extra-compiles", "extra-no-wheel"),
    "build-without-gpu": ("build-without-gpu",),
    "nvcc-toolkit": ("nvcc-*",),
    "abi": ("extra-*torch*", "extra-no-wheel", "extra-other-*", "undefined-symbol"),
    "glibc": ("extra-glibc*", "glibc-floor"),
    "numpy2": ("numpy-2-*", "numpy2-*"),
    "lib-shadowing": ("library-path-shadows",),
    "python-wheel": ("python-no-wheel",),
    "no-such-build": ("build-not-made",),
    "cpu-build": ("cpu-build*", "extra-on-cpu-torch"),
    "aarch64": ("cpu-build-on-aarch64",),
    "precision": ("bf16-*", "fp16-*", "fp8-*", "precision-*"),
    "stale-build": ("extra-code-*", "stale-build"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_verdict(row):
    expected = row["expected"]
    report = examine(*stack_and_target(read_question(row["input"])))
    told = [(found.rule, found.found) for found in report.findings]
    assert WORDS[report.verdict] in [expected["verdict"], *expected["also_accept"]], told


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["expected"]["verdict"] != "ok"], ids=lambda row: row["id"]
)
def test_reason(row):
    """A right verdict for a wrong reason is a wrong answer."""
    report = examine(*stack_and_target(read_question(row["input"])))
    told = [found.rule for found in report.findings if rule_rows()[found.rule].outcome != "runs"]
    meant = [name for tag in row["expected"]["tags"] for name in REASONS.get(tag, ())]
    assert any(fnmatch(rule, name) for rule in told for name in meant), (told, row["expected"]["tags"])


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["fix"] and "torch==" in row["fix"]], ids=lambda row: row["id"]
)
def test_fix_has_code_for_the_card(row):
    """What we say to lock runs on the card of the question, as what the report found does."""
    stack, target = stack_and_target(read_question(row["input"]))
    locks = [
        fix
        for found in examine(stack, target).findings
        for fix in found.fix
        if fix.startswith("lock torch==")
    ]
    assert locks
    version = locks[0].split()[1].rstrip(":")
    again = read_question(
        {**row["input"], "torch": {"spec": version, "index": None}, "arch_list": None, "extras": []}
    )
    if "+" not in version:
        again = read_question(
            {**row["input"], "torch": {"spec": version, "index": "default"}, "arch_list": None, "extras": []}
        )
    assert examine(*stack_and_target(again)).verdict == "runs"


def test_pairs_differ():
    """Rows of one pair differ in one thing and must not get equal answers by accident."""
    pairs = {}
    for row in ROWS:
        if row["pair"]:
            verdict = WORDS[examine(*stack_and_target(read_question(row["input"]))).verdict]
            pairs.setdefault(row["pair"], []).append((verdict, row["expected"]["verdict"]))
    assert len(pairs) >= 8
    for told in pairs.values():
        assert len({ours for ours, _ in told}) >= min(2, len({theirs for _, theirs in told})), told


def test_a_question_file_reads_the_whole_casebook():
    assert len(questions(CASES.read_text("utf-8"))) == len(ROWS) == 107
