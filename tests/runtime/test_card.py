"""The gate `card`: live card, driver and torch against what the bundle was checked for."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import msgspec
import pytest

from repro.bundle import lay_runtime
from repro.bundle.runtime import runtime_files
from repro.check.code.containers import fit as host_fit
from repro.check.finding import rule_rows
from repro.engine.contract import Exit
from repro.model.binary import GpuCode
from repro.model.run import Attempt
from repro.run.failures import failure
from repro.runtime import card, cardrules, child, nvml
from repro.runtime.attempt import new_attempt
from repro.runtime.job import Job
from repro.tables.gpus import all_gpus
from repro.tables.toolkits import toolkits

RUNTIME = Path(cardrules.__file__).parent
OLD = ["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"]  # torch 1.13.1 for CUDA 11.7
A100 = {"name": "NVIDIA A100-SXM4-80GB", "capability": "8.0", "memory_bytes": 85_899_345_920, "uuid": "GPU-1"}
H100 = {"name": "NVIDIA H100 80GB HBM3", "capability": "9.0", "memory_bytes": 85_520_809_984, "uuid": "GPU-2"}
TARGET = {
    "asked": "A100-80GB", "gpu": "a100-sxm4-80gb", "name": "A100 SXM4 80GB", "capability": "8.0",
    "memory_bytes": 85_899_345_920, "driver": "535.104.05", "names": ["NVIDIA A100-SXM4-80GB"],
}  # fmt: skip
STACK = {
    "schema": 1,
    "torch": {"version": "1.13.1", "tag": "cu117", "cuda": "11.7", "sass": OLD, "ptx": [], "basis": "table"},
    "driver": {"floor": "450.80.02", "ptx_floor": "515.43.04"},
    "targets": [TARGET],
    "help": {
        "cuda_init_errors": {
            "802": {"means": "the fabric service", "fix": "systemctl start nvidia-fabricmanager"}
        },
        "code_fixes": {"9.0": ["lock torch==2.0.0+cu118 (index pytorch-cu118)"]},
    },
    "allowed": False,
}
PROGRAM = {
    "version": "1.13.1+cu117", "cuda": "11.7", "arch_list": OLD, "available": True, "devices": [],
    "cuinit": 0, "said": "", "problem": "",
}  # fmt: skip


def machine(*cards, driver="535.104.05", problem=""):
    return {"driver": driver, "cards": list(cards), "problem": problem, "present": True}


def judged(*cards, driver="535.104.05", stack=None, **program):
    """The gate's row for a machine with these cards and a program's torch that differs thus from PROGRAM."""
    return card.verdict({**STACK, **(stack or {})}, machine(*cards, driver=driver), {**PROGRAM, **program})


def rules(row):
    return [(f["rule"], f["stops"]) for f in row["findings"]]


def test_the_card_that_was_meant_passes():
    row = judged(A100)
    assert (row["status"], row["findings"], row["evidence"]) == ("passed", [], [])
    assert row["reason"] == "NVIDIA A100-SXM4-80GB (8.0, exact); driver 535.104.05; torch 1.13.1+cu117"


def test_a_card_without_code_stops_with_what_was_found_needed_and_a_fix():
    row = judged(H100)
    assert row["status"] == "failed"
    assert rules(row) == [("torch-no-code", True), ("live-card", False)]
    first = row["evidence"][0]
    assert first.startswith("torch-no-code: torch 1.13.1+cu117 has sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86")
    assert "NVIDIA H100 80GB HBM3 is 9.0; needed code for capability 9.0" in first
    assert "lock torch==2.0.0+cu118 (index pytorch-cu118)" in first
    assert first.endswith("run it on A100 SXM4 80GB")


def test_one_card_of_two_that_works_is_enough():
    row = judged(H100, A100)
    assert row["status"] == "passed"
    assert rules(row) == [("torch-no-code", False), ("live-card", False)]


def test_only_what_the_program_is_shown_counts():
    shown = [{"name": H100["name"], "capability": "9.0", "memory_bytes": 84_000_000_000}]
    assert judged(A100, H100, devices=shown)["status"] == "failed"
    assert judged(A100, cuinit=cardrules.NO_DEVICE, available=False)["status"] == "unknown"
    assert (
        judged(A100, cuinit=cardrules.NO_DEVICE, available=False, stack={"targets": []})["status"]
        == "skipped"
    )


def test_the_live_list_counts_and_its_difference_is_told():
    row = judged(H100, arch_list=[*OLD, "sm_90"], stack={"targets": []})
    assert (row["status"], rules(row)) == ("passed", [("torch-list-differs", False)])
    row = judged(A100, arch_list=["sm_70"])
    assert (row["status"], rules(row)) == ("failed", [("torch-no-code", True), ("torch-list-differs", False)])


def test_a_torch_that_does_not_tell_is_judged_by_the_bundle_and_else_not_at_all():
    assert rules(judged(H100, arch_list=None, stack={"targets": []})) == [("torch-no-code", True)]
    row = judged(H100, arch_list=None, version="1.5.0", stack={"targets": []})
    assert (row["status"], rules(row)) == ("unknown", [("live-torch", False)])
    row = judged(
        A100, version=None, cuda=None, arch_list=None, available=None, problem="ImportError: no torch"
    )
    assert (row["status"], row["reason"]) == ("unknown", "ImportError: no torch")


def test_text_needs_a_driver_that_compiles_it():
    lists = {"arch_list": ["sm_70", "compute_70"], "stack": {"targets": []}}
    row = judged(A100, driver="470.57.02", **lists)
    assert row["status"] == "failed"
    assert rules(row)[0][1]
    assert "driver >= 515.43.04" in row["evidence"][0]
    row = judged(A100, driver="515.43.04", **lists)
    assert row["status"] == "passed"
    assert not any(stops for _, stops in rules(row))
    assert row["reason"].startswith("NVIDIA A100-SXM4-80GB (8.0, jit)")


def test_an_old_driver_stops_what_it_does_not_run():
    said = "The NVIDIA driver on your system is too old (found version 10010)."
    row = judged(A100, driver="418.87.00", available=False, said=said)
    assert (row["status"], rules(row)[0][1]) == ("failed", True)
    assert (
        "driver 418.87.00; torch 1.13.1+cu117 needs CUDA 11.7; needed driver >= 450.80.02"
        in row["evidence"][0]
    )
    # A library for forward compatibility makes it work: the live value counts.
    assert rules(judged(A100, driver="418.87.00")) == [("live-driver", False)]
    row = judged(A100, available=False, said=said)
    assert row["status"] == "failed"
    assert said in row["evidence"][0]


@pytest.mark.parametrize(("error", "fix"), [(802, "nvidia-fabricmanager"), (803, "nvidia-smi")])
def test_a_driver_that_refuses_stops(error, fix):
    row = judged(A100, cuinit=error, available=False)
    assert row["status"] == "failed"
    assert f"cuInit answers {error} on NVIDIA A100-SXM4-80GB" in row["evidence"][0]
    assert fix in row["evidence"][0]


def test_a_build_without_cuda_stops_only_where_a_card_is_meant():
    cpu = {"version": "2.13.0+cpu", "cuda": "", "arch_list": None, "available": False}
    assert judged(A100, **cpu)["status"] == "failed"
    row = judged(A100, **cpu, stack={"torch": None, "targets": []})
    assert (row["status"], row["findings"]) == ("skipped", [])
    assert judged(A100, **cpu, cuinit=802, stack={"torch": None, "targets": []})["status"] == "skipped"


def test_a_card_that_merely_is_in_the_machine_stops_no_bundle_without_targets():
    stack = {**STACK, "targets": []}
    row = card.verdict(stack, machine(H100), PROGRAM, given=False)
    assert (row["status"], rules(row)) == ("skipped", [("torch-no-code", False)])
    assert card.verdict(STACK, machine(H100), PROGRAM, given=False)["status"] == "failed"
    assert card.verdict(stack, machine(H100), PROGRAM, given=True)["status"] == "failed"


def test_less_than_the_target_is_told():
    small = {**A100, "memory_bytes": 42_949_672_960}
    row = judged(small, driver="525.60.13")
    assert (row["status"], rules(row)) == ("passed", [("live-memory", False), ("live-driver", False)])


def test_what_was_allowed_fails_and_does_not_stop():
    row = judged(H100, stack={"allowed": True})
    assert (row["status"], row["allowed"]) == ("failed", True)
    assert row["reason"].endswith("built with --allow-incompatible")
    assert judged(A100, stack={"allowed": True})["allowed"] is False


def test_a_need_above_the_memory_of_every_card_stops():
    small = {**A100, "name": "NVIDIA A100-SXM4-40GB", "memory_bytes": 42_949_672_960}
    row = judged(small, stack={"memory_bytes": 60 << 30})
    assert rules(row)[0] == ("memory-too-small", True)
    assert row["status"] == "failed"
    assert "60.0 GiB asked for, NVIDIA A100-SXM4-40GB has 40.0 GiB" in row["reason"]
    beside = judged(small, A100, stack={"memory_bytes": 60 << 30})
    assert (beside["status"], ("memory-too-small", False) in rules(beside)) == ("passed", True)
    unknown = judged({**small, "memory_bytes": None}, stack={"memory_bytes": 60 << 30})
    assert "memory-too-small" not in dict(rules(unknown))
    assert "memory-too-small" not in dict(rules(judged(A100, stack={"memory_bytes": 60 << 30})))
    assert "memory-too-small" not in dict(rules(judged(small, stack={"memory_bytes": None})))


def test_a_stack_of_another_shape_is_unknown_never_a_crash(tmp_path, monkeypatch):
    (tmp_path / "stack.json").write_text('{"torch": [1], "targets": 7')
    assert (
        card.look(str(tmp_path), sys.executable, dict(os.environ), str(tmp_path), True)["status"] == "unknown"
    )


def test_every_code_used_here_is_a_rule_of_the_host():
    trees = [ast.parse((RUNTIME / name).read_text()) for name in ("cardrules.py", "visible.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "finding"]
    used = {ast.literal_eval(call.args[0]) for call in calls}
    assert len(used) >= 9
    assert used <= set(rule_rows())
    assert {code for code in rule_rows() if code.startswith("live-")} <= used


def test_both_sides_agree_on_every_target_and_card():
    chips = {sm.removeprefix("sm_").rstrip("af") for kit in toolkits().values() for sm in kit.sass}
    chips |= {"53", "62", "72", "87", "101", "110"}
    names = [number + suffix for number in chips for suffix in ("", "a", "f")]
    capabilities = {gpu.capability for gpu in all_gpus()} | {f"{c[:-1]}.{c[-1]}" for c in chips}
    for kind, name, capability in product(("sass", "ptx"), names, sorted(capabilities)):
        code = f"{'sm' if kind == 'sass' else 'compute'}_{name}"
        ours = cardrules.fit(code, capability)
        assert ours == host_fit(GpuCode(kind=kind, arch=name), capability), (code, capability)


def stub_torch(folder: Path, body: str) -> dict[str, str]:
    """A program's environment whose torch is this file."""
    (folder / "site" / "torch").mkdir(parents=True)
    (folder / "site" / "torch" / "__init__.py").write_text(body)
    return {**os.environ, "PYTHONPATH": str(folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"}


TORCH_1_13 = f"""
import types, warnings
__version__ = "1.13.1+cu117"
version = types.SimpleNamespace(cuda="11.7")
def is_available():
    warnings.warn("CUDA initialization: something about CUDA")
    return True
cuda = types.SimpleNamespace(
    is_available=is_available, device_count=lambda: 1, get_arch_list=lambda: {OLD!r},
    get_device_properties=lambda i: types.SimpleNamespace(
        name="NVIDIA H100 80GB HBM3", major=9, minor=0, total_memory=84942979072),
)
print("noise on standard output")
"""


def test_an_old_torch_on_a_new_card_end_to_end(tmp_path):
    answer = child.ask("_devices", None, sys.executable, stub_torch(tmp_path, TORCH_1_13), str(tmp_path))
    assert (answer["version"], answer["cuda"], answer["arch_list"]) == ("1.13.1+cu117", "11.7", OLD)
    assert (answer["available"], answer["problem"]) == (True, "")
    assert answer["devices"] == [{"name": H100["name"], "capability": "9.0", "memory_bytes": 84942979072}]
    row = card.verdict(STACK, machine(H100), {**answer, "cuinit": 0})
    assert (row["status"], row["findings"][0]["rule"]) == ("failed", "torch-no-code")


NO_CUDA = """
import types
__version__ = "1.4.0"
version = types.SimpleNamespace(cuda=None)
cuda = types.SimpleNamespace(is_available=lambda: False)
"""
OTHER_TORCHES = {
    "broken": ("raise ImportError('libcudart.so.11.0: cannot open')", "ImportError: libcudart.so.11.0"),
    "no CUDA": (NO_CUDA, ""),
    "half": ("__version__ = '1.0'", "AttributeError: "),
}


@pytest.mark.parametrize("kind", OTHER_TORCHES)
def test_a_torch_that_answers_less_is_read_as_far_as_it_goes(kind, tmp_path):
    body, problem = OTHER_TORCHES[kind]
    answer = child.ask("_devices", None, sys.executable, stub_torch(tmp_path, body), str(tmp_path))
    assert answer["problem"].startswith(problem)
    assert answer["arch_list"] is None
    assert answer["devices"] == []


def test_a_process_that_dies_is_no_answer(tmp_path):
    env = stub_torch(tmp_path, "import os, sys\nsys.stderr.write('gone')\nsys.stderr.flush()\nos._exit(7)")
    with pytest.raises(child.NoAnswerError, match="exit status 7: gone"):
        child.ask("_devices", None, sys.executable, env, str(tmp_path))
    with pytest.raises(child.NoAnswerError, match="No such file"):
        child.ask("_devices", None, "/nonexistent/python", env, str(tmp_path))


# A run whose program is shown no card, as on a machine that has none.
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}


def card_row(run: Path) -> dict:
    rows = json.loads((run / "attempt-1" / "gates.json").read_text())["gates"]
    return next(row for row in rows if row["name"] == "card")


@pytest.mark.skipif(nvml.read()["present"], reason="this machine has a card")
def test_without_a_card_nothing_stops(bundle, tmp_path):
    assert bundle.run(tmp_path / "plain").returncode == 0
    assert card_row(tmp_path / "plain")["status"] == "skipped"
    bundle.document("stack.json", **STACK)
    assert bundle.run(tmp_path / "meant").returncode == 0
    row = card_row(tmp_path / "meant")
    assert row["status"] == "unknown"
    assert row["reason"] == "no NVIDIA card is here; the bundle is meant for A100 SXM4 80GB"


def pythons() -> list[Path]:
    """One interpreter for each of 3.6 to 3.13 that pyenv has."""
    top = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {re.match(r"3\.\d+", p.parent.parent.name)[0]: p for p in sorted(top.glob("3.*/bin/python"))}
    return [found[minor] for minor in found if 6 <= int(minor[2:]) <= 13]


def test_the_module_is_part_of_what_names_a_bundle():
    files = runtime_files()
    assert (
        b"Redistribution and use in source and binary forms" in files["repro_runtime/vendor/pynvml.py"][:2000]
    )
    wanted = {"repro_runtime/job.py", "repro_runtime/inside/hooks/imports.py", "repro_runtime/vendor/SOURCE"}
    assert wanted <= set(files)
    assert not any("__pycache__" in name for name in files)


READ = "import json; from repro_runtime import nvml; print(json.dumps(nvml.read()))"


def read_under(python: Path, runtime: Path) -> dict:
    words = [str(python), "-I", "-c", f"import sys; sys.path.insert(0, {str(runtime)!r}); {READ}"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("python", pythons(), ids=lambda p: p.parent.parent.name)
def test_the_module_that_travels_is_asked_on_every_python(python, tmp_path):
    lay_runtime(tmp_path)
    found = read_under(python, tmp_path)
    # Either the module imported and NVML answered or was not there, or it did not import and says so.
    assert found["cards"] or found["problem"].startswith(("NVML: ", "pynvml does not import on Python "))
    assert found["driver"] or not found["cards"]
    assert re.fullmatch(r"pynvml\.py of nvidia-ml-py [\d.]+, unchanged\n",
                        (tmp_path / "repro_runtime" / "vendor" / "SOURCE").read_text())  # fmt: skip
    (tmp_path / "repro_runtime" / "vendor" / "pynvml.py").write_text("this is no Python of any version\n")
    found = read_under(python, tmp_path)
    assert found["problem"].startswith("pynvml does not import on Python 3.")
    assert found["cards"] == []


def test_a_module_that_does_not_import_stops_no_run(bundle, tmp_path):
    lay_runtime(bundle.path)
    bundle.write("repro_runtime/vendor/pynvml.py", "def f(x, /, *, *y): pass\n")
    done = bundle.run(tmp_path / "run", env=HIDDEN)
    assert done.returncode == 0, done.stderr
    assert card_row(tmp_path / "run")["status"] in ("skipped", "unknown")


@pytest.fixture
def on_an_h100(tmp_path):
    """Run a program that has torch 1.13.1 on a machine with an H100; no test can bring the card along."""
    env = stub_torch(tmp_path, TORCH_1_13)

    def run(stack: dict, out: str) -> int:
        bundle = tmp_path / f"bundle-{out}"
        bundle.mkdir()
        (bundle / "stack.json").write_text(json.dumps(stack))
        attempt = new_attempt(str(tmp_path / out), {"run_id": out})
        words = [sys.executable, "-c", "print('the loop')"]
        job = Job(attempt, {"metrics": ""}, words, str(tmp_path), sys.executable, env, {})
        job.before = lambda: [
            card.look(str(bundle), sys.executable, env, str(tmp_path), True, lambda: machine(H100))
        ]
        return job.perform()

    return run


def test_a_refused_run_says_the_finding_and_starts_nothing(on_an_h100, tmp_path, rt, capfd):
    assert on_an_h100(STACK, "run") == 3
    said = capfd.readouterr()
    assert said.out == ""
    assert "repro: card: torch-no-code: torch 1.13.1+cu117 has sm_37" in said.err
    state = rt.Attempt(tmp_path / "run").state
    assert state["status"] == "refused"
    assert state["reason"].startswith("gate card: torch-no-code: ")


def test_an_allowed_run_goes_on_and_says_it(on_an_h100, tmp_path, capfd):
    assert on_an_h100({**STACK, "allowed": True}, "run") == 0
    said = capfd.readouterr()
    assert said.out == "the loop\n"
    assert "repro: card: torch-no-code: " in said.err
    row = card_row(tmp_path / "run")
    assert (row["status"], row["allowed"]) == ("failed", True)


def test_the_host_shows_the_finding_with_its_fixes(on_an_h100, tmp_path):
    on_an_h100(STACK, "run")
    folder = tmp_path / "run" / "attempt-1"
    record = msgspec.json.decode((folder / "run.json").read_bytes(), type=Attempt)
    error = failure(record, Exit(3, False), folder)
    assert error.code == "run-refused"
    assert list(error.needs) == ["code for capability 9.0"]
    assert error.tries[-1] == "repro explain torch-no-code"
    assert any("run it on A100 SXM4 80GB" in fix for fix in error.tries)


@pytest.mark.gpu
@pytest.mark.torch
def test_a_real_card_and_a_real_torch(tmp_path):
    row = card.look(str(tmp_path), sys.executable, dict(os.environ), str(tmp_path), True)
    listed = subprocess.run(
        [shutil.which("nvidia-smi"), "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    name, driver, capability = listed[0].split(", ")
    assert row["status"] == "passed", row
    assert f"{name} ({capability}, " in row["reason"]
    assert f"driver {driver}" in row["reason"]
    assert row["findings"] == []
