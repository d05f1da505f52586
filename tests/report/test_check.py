"""A check as text and as a document: what a golden file shows, and the keys that scripts rely on."""

from collections.abc import Callable

import msgspec

from repro.model.check import CheckReport, FileFit, Finding, TargetReport
from repro.report.check import check_document, check_text

Golden = Callable[[str, str], None]

NO_KERNEL = Finding(
    rule="torch-no-kernel",
    severity="error",
    found="torch 1.12.1+cu102 has sm_37 sm_50 sm_60 sm_70",
    needed="machine code for 8.0, or PTX of at most 8.0",
    why="no part of torch can run on this card",
    fix=["lock torch==1.12.1+cu113", "lock torch==1.12.1+cu116"],
    source="wheel of torch 1.12.1",
    where="requirements.txt:1",
)
LEFT_OPEN = Finding(
    rule="lock-warning",
    severity="warning",
    found="unpinned: tqdm has no version",
    why="the lock warns of this line",
    source="the project's own files",
    where="requirements.txt:5",
)
NOTE = Finding(rule="lock-note", severity="note", found="include: one file", why="the lock notes this line")
FILES = [
    FileFit(path="torch/lib/libtorch_cuda_cu.so", owner="torch", containers={"exact": 2, "none": 300}),
    FileFit(path="torch/lib/libtorch_cuda_cpp.so", owner="torch", containers={"none": 87}),
    FileFit(path="flash_attn_2.so", owner="flash-attn", containers={"exact": 72}),
    FileFit(path="libcublas.so", owner="nvidia-cublas-cu11", containers={"compat": 10}, vendor=True),
]


def target(gpu: str = "a100-sxm4-80gb", **fields: object) -> TargetReport:
    known = {
        "gpu": gpu,
        "name": "NVIDIA A100-SXM4-80GB" if gpu else "",
        "capability": "8.0" if gpu else "",
        "driver": "535.104.05" if gpu else "",
        "verdict": "will-fail",
        "findings": [NO_KERNEL, LEFT_OPEN],
        "files": FILES,
    }
    return msgspec.convert({**known, **fields}, TargetReport, from_attributes=True)


def report(*targets: TargetReport, **fields: object) -> CheckReport:
    stack = {"origin": "project", "torch": "1.12.1+cu102", "cuda": "10.2", "python": "3.10"}
    return CheckReport(stack=stack, targets=list(targets), **fields)  # type: ignore[arg-type]


def test_one_target_is_as_checked_in(golden: Golden) -> None:
    golden("check_one.txt", check_text(report(target(), arch_list="8.0+PTX")))


def test_findings_of_all_targets_stand_once(golden: Golden) -> None:
    other = target("v100", name="Tesla V100", capability="7.0", verdict="runs", findings=[LEFT_OPEN, NOTE])
    words = check_text(report(target(), other, allowed=True))
    golden("check_two.txt", words)
    assert words.count("unpinned") == 1


def test_no_target_says_how_to_name_one(golden: Golden) -> None:
    golden("check_none.txt", check_text(report(target("", verdict="unknown", files=[]))))


def test_colour_is_only_added() -> None:
    plain = check_text(report(target()))
    coloured = check_text(report(target()), colour=True)
    assert "\x1b[31mwill-fail" in coloured
    for code in ("\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_the_document_has_the_promised_keys() -> None:
    document = check_document(report(target(), arch_list="8.0"))
    assert (document["schema"], document["command"], document["arch_list"]) == (1, "check", "8.0")
    (one,) = document["targets"]
    assert {"gpu", "name", "capability", "driver", "verdict", "findings", "files"} <= set(one)
    found = one["findings"][0]
    assert {"rule", "severity", "found", "needed", "why", "fix", "source", "where"} <= set(found)
    assert found["fix"] == NO_KERNEL.fix
