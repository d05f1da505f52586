"""Programs that do what a recorder might trip over: each behaves as without us, the record is defined."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.torch

START = """
import os, sys, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
def train(steps, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.rand(8, 4)).pow(2).mean().backward()
        optimizer.step()
    return optimizer
def show():
    print(*[p.detach().double().sum().item().hex() for p in model.parameters()], flush=True)
"""


@pytest.fixture
def both(rt, tmp_path):
    """Run a program without and with the recorder; asserts that they look alike from outside."""

    def run(text, code=0, files=()):
        (tmp_path / "main.py").write_text(START + textwrap.dedent(text))
        for name, content in files:
            (tmp_path / name).write_text(content)
        command = [sys.executable, str(tmp_path / "main.py")]
        known = {"capture_output": True, "text": True, "cwd": tmp_path, "env": rt.environment()}
        alone = subprocess.run(command, **known)
        recorded = subprocess.run(rt.record_words(tmp_path / "run", *command), **known)
        assert (recorded.returncode, recorded.stdout) == (alone.returncode, alone.stdout), recorded.stderr
        assert alone.returncode == code, alone.stderr
        assert "recording stopped" not in recorded.stdout + recorded.stderr
        return rt.Attempt(tmp_path / "run")

    return run


def test_no_step_at_all(both):
    attempt = both("""
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.rand(8, 4)).mean().backward()
        with torch.no_grad():
            print(model(torch.ones(1, 4)).item().hex())
        show()
    """)
    assert not (attempt.path / "trace-0.jsonl").exists()
    assert attempt.state["recorder"] == {"loaded": True, "torch": True, "steps": 0}
    assert attempt.json("conditions.json")["values"]["python.version"]


def test_a_child_that_only_computes_leaves_no_trace(both):
    attempt = both("""
        optimizer = train(20)
        if os.fork() == 0:
            with torch.no_grad():
                print("child", model(torch.ones(1, 4)).item().hex(), flush=True)
            os._exit(0)
        os.wait()
        train(5, optimizer)
        show()
    """)
    assert [s["step"] for s in attempt.kind("s")] == list(range(1, 26))
    assert [p.name for p in attempt.path.glob("trace-*")] == ["trace-0.jsonl"]


def test_a_child_that_trains_has_a_trace_of_its_own(both):
    attempt = both("""
        optimizer = train(40)
        if os.fork() == 0:
            train(3, optimizer)
            show()
            os._exit(0)
        os.wait()
        train(2, optimizer)
        show()
    """)
    assert [s["step"] for s in attempt.kind("s")] == list(range(1, 43))
    assert [s["step"] for s in attempt.kind("s", "trace-0.2.jsonl")] == [1, 2, 3]
    assert attempt.lines("trace-0.2.jsonl")[-1]["status"] == "ok"


@pytest.mark.parametrize(("code", "status"), [(0, "ok"), (7, "failed")])
def test_an_end_without_farewell_closes_the_record(both, code, status):
    attempt = both(
        f"""
        train(30)
        with torch.no_grad():
            model.eval()(torch.ones(2, 4))
        show()
        os._exit({code})
        """,
        code=code,
    )
    assert [s["step"] for s in attempt.kind("s")] == list(range(1, 31))
    assert [(e["step"], e["rows"]) for e in attempt.kind("e")] == [(30, 2)]
    assert (attempt.lines()[-1]["k"], attempt.lines()[-1]["status"]) == ("end", status)
    assert attempt.state["status"] == status


PATCHES = """
    calls = {}
    def counted(owner, name):
        original = getattr(owner, name)
        def inner(*args, **kwargs):
            calls[name] = calls.get(name, 0) + 1
            return original(*args, **kwargs)
        setattr(owner, name, inner)
        return original
    def everything():
        return [(o, n, counted(o, n)) for o, n in (
            (torch.nn.Module, "__call__"), (torch.Tensor, "backward"), (torch.optim.SGD, "step"),
            (torch, "save"), (torch.optim.Optimizer, "__init__"), (os, "_exit"))]
"""


@pytest.mark.parametrize("moment", ["first", "between", "later", "for a while"])
def test_a_program_that_replaces_the_same_functions(both, moment):
    lines = {
        "first": "everything(); optimizer = train(20)",
        "between": "o = torch.optim.SGD(model.parameters(), lr=0.1); everything(); optimizer = train(20, o)",
        "later": "optimizer = train(20); everything(); train(5, optimizer)",
        "for a while": (
            "o = torch.optim.SGD(model.parameters(), lr=0.1); kept = everything(); optimizer = train(3, o);"
            " [setattr(*row) for row in kept]; train(17, optimizer)"
        ),
    }
    attempt = both(
        textwrap.dedent(PATCHES)
        + lines[moment]
        + "\ntorch.save(model.state_dict(), os.devnull)\nprint(sorted(calls.items()), flush=True)\n"
        + "show()\nos._exit(0)"
    )
    steps = attempt.kind("s")
    assert [s["step"] for s in steps] == list(range(1, 26 if moment == "later" else 21))
    assert all(s["loss"] and s["nb"] == 1 for s in steps)
    assert all("fwd" in s for s in steps[:16])


def test_modules_named_as_ours(both):
    files = [
        ("repro.py", "word = 'mine'\n"),
        ("repro_runtime.py", "word = 'mine too'\n"),
        ("recorder.py", "word = 'and this'\n"),
    ]
    attempt = both(
        """
        import recorder, repro, repro_runtime
        print(repro.word, repro_runtime.word, recorder.word, flush=True)
        train(4)
        show()
        """,
        files=files,
    )
    assert len(attempt.kind("s")) == 4


def test_an_exception_ends_it_as_it_would_have(both):
    attempt = both("train(3)\nshow()\nraise SystemExit(9)", code=9)
    assert len(attempt.kind("s")) == 3
    assert attempt.lines()[-1]["k"] == "end"
