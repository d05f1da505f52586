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


def test_the_arch_list_is_for_targets_that_can_work() -> None:
    fails, runs = target(), target(verdict="runs", findings=[])
    assert "TORCH_CUDA_ARCH_LIST" not in check_text(report(fails, arch_list="8.0+PTX"))
    assert 'TORCH_CUDA_ARCH_LIST="8.0+PTX"' in check_text(report(fails, runs, arch_list="8.0+PTX"))


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


def said_by_the_lock(code: str, where: str, text: str, severity: str = "warning") -> Finding:
    why = "the lock warns of this line"
    return msgspec.structs.replace(
        LEFT_OPEN, rule=f"lock-{severity}", severity=severity, found=f"{code}: {text}", where=where, why=why
    )


NEEDS_TORCH = Finding(
    rule="build-needs-torch",
    severity="note",
    found="the build imports torch: `import torch`",
    needed="torch installed before it",
    why="the build of a package imports torch, so torch must be there first",
    where="ext/setup.py:7",
)
EXTENSION = Finding(
    rule="cuda-extension",
    severity="warning",
    found="the extension `a` is compiled with the environment",
    needed="nvcc",
    why="CUDA code is compiled with the environment",
    fix=["a devel base image"],
    where="a/setup.py:20",
)


def text_of(*findings: Finding, **how: object) -> str:
    return check_text(report(target(findings=list(findings), files=[])), **how)  # type: ignore[arg-type]


def test_what_lock_and_rule_say_of_one_line_is_told_once() -> None:
    lock = said_by_the_lock("build-needs-torch", "ext/setup.py:7-9", "the build imports torch")
    assert "note[build-needs-torch]" not in text_of(lock, NEEDS_TORCH)
    assert "ext/setup.py:7-9" in text_of(lock, NEEDS_TORCH)
    other = said_by_the_lock("build-needs-torch", "other/setup.py:7", "the build imports torch")
    assert "note[build-needs-torch]" in text_of(other, NEEDS_TORCH)
    error = said_by_the_lock("cuda-extension", "a/setup.py:20", "in no dependency file", "error")
    assert "warning[cuda-extension]" not in text_of(error, EXTENSION)
    assert "warning[cuda-extension]" in text_of(error, EXTENSION, depth="all")


def test_findings_with_one_answer_stand_together() -> None:
    other = msgspec.structs.replace(EXTENSION, found="the extension `b`", where="b/setup.py:3")
    words = text_of(EXTENSION, other)
    assert words.count("warning[cuda-extension]") == 1
    assert "a/setup.py:20: the extension `a`" in words
    assert "b/setup.py:3: the extension `b`" in words
    assert words.count("a devel base image") == 1


def test_many_lines_of_the_lock_take_a_line_for_each_code() -> None:
    many = [
        said_by_the_lock("import-only", f"m{n}.py:1", f"m{n} is imported and named nowhere")
        for n in range(40)
    ]
    hint = said_by_the_lock("readme-hint", "README.md:3", f"{'names numpy; ' * 30}names torch 1.7.1")
    words = text_of(*many, hint)
    assert "import-only  m0.py:1: m0 is imported and named nowhere (39 more)" in words
    assert "README.md:3: names torch 1.7.1; names numpy" in words
    assert len(words.splitlines()) < 16
    assert "m39.py:1" in text_of(*many, hint, depth="all")


def test_notes_of_one_rule_are_one_sentence_and_can_be_left_out() -> None:
    notes = [msgspec.structs.replace(NEEDS_TORCH, where=f"p{n}/setup.py:1") for n in range(9)]
    words = text_of(*notes)
    assert words.count("note[") == 1
    assert "p3/setup.py:1 and 5 more" in " ".join(words.split())
    assert "note[" not in text_of(*notes, depth="less")
    assert text_of(*notes, depth="all").count("note[") == 9


def test_targets_of_which_the_same_is_said_stand_together() -> None:
    note = msgspec.structs.replace(NEEDS_TORCH, needed="code for 8.6")
    first, second = target(findings=[NEEDS_TORCH], files=[]), target("a6000", findings=[note], files=[])
    third = target("h100", findings=[NO_KERNEL], files=[])
    words = check_text(report(first, third, second))
    assert words.count("note[build-needs-torch]") == 1
    lines = [n for n, line in enumerate(words.splitlines()) if line.startswith("will-fail:")]
    assert lines[1] == lines[0] + 1
    assert "on every target" not in words


def test_a_project_that_cannot_be_locked_is_not_the_cards_fault() -> None:
    error = said_by_the_lock("no-manifest", ".", "no dependency file", "error")
    assert "whatever the card" in text_of(error, NEEDS_TORCH)
    assert "whatever the card" not in text_of(error, NO_KERNEL)


def test_no_line_is_wider_than_the_terminal() -> None:
    many = [said_by_the_lock(f"code-{n}", "a.py:1", "words " * 40) for n in range(4)]
    words = text_of(NO_KERNEL, EXTENSION, NEEDS_TORCH, *many, width=50)
    assert max(map(len, words.splitlines())) <= 50


def test_values_that_nothing_says_are_marked() -> None:
    stack = {"origin": "project", "python": "3.11", "assumed": ["python"]}
    words = check_text(msgspec.structs.replace(report(target(files=[])), stack=stack))
    assert "3.11 (assumed: nothing here says it)" in words
