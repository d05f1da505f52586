"""The runtime on the Pythons that old projects need: syntax, library, imports, and real runs."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "repro" / "runtime"
FILES = sorted(ROOT.rglob("*.py"))
GUESTS = {"torch", "numpy", "pynvml"}


def installed_pythons():
    """One interpreter for each of 3.6 to 3.13 that pyenv has."""
    top = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {}
    for python in sorted(top.glob("3.*/bin/python")):
        minor = int(re.match(r"3\.(\d+)", python.parent.parent.name)[1])
        if 6 <= minor <= 13:
            found[minor] = python
    return [found[minor] for minor in sorted(found)]


PYTHONS = installed_pythons()


def test_some_old_python_is_here():
    if "pythons" in os.environ.get("REPRO_REQUIRE", "").split(","):
        assert PYTHONS, "REPRO_REQUIRE asks for pythons and pyenv has none"
    assert sys.version_info >= (3, 11)


@pytest.mark.parametrize("python", PYTHONS, ids=lambda p: p.parent.parent.name)
def test_records_under(python, rt, tmp_path):
    command = [str(python), str(rt.programs / "no_torch.py"), "{out}/metrics.json"]
    words = rt.record_words(tmp_path / "run", *command, python=str(python))
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=rt.environment())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    attempt = rt.Attempt(tmp_path / "run")
    assert attempt.state["recorder"] == {"loaded": True, "torch": False, "steps": 0}
    assert attempt.json("metrics.json")["values"]["score"] == (0.5).hex()
    version = attempt.json("conditions.json")["values"]["python.version"]
    assert version == python.parent.parent.name
    assert json.loads((tmp_path / "run" / "result.json").read_text())["attempt"] == 1


@pytest.mark.parametrize("python", PYTHONS, ids=lambda p: p.parent.parent.name)
def test_every_module_can_be_imported_under(python, tmp_path):
    names = [
        p.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for p in FILES
        if "inject" not in p.parts
    ]
    names = [n for n in names if n not in ("boot", "__init__", "inside.__init__")]
    code = "import importlib, sys\nfor n in sys.argv[1:]: importlib.import_module('_repro_recorder.' + n)"
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "inject"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "error",
    }
    done = subprocess.run(
        [str(python), "-c", code, *names], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_syntax_is_that_of_3_6(path):
    ast.parse(path.read_text(), feature_version=(3, 6))


def test_library_is_that_of_3_6():
    program = Path(sys.executable).parent / "vermin"
    if not program.exists():
        pytest.fail("vermin is a development requirement: pip install vermin")
    done = subprocess.run(
        [str(program), "-t=3.6-", "--no-tips", "--violations", str(ROOT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def imports(path):
    """(level, top-level name, whether inside `try` or a function) of every import."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(n) for t in ast.walk(tree) if isinstance(t, ast.Try) for part in t.body for n in ast.walk(part)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name.partition(".")[0], id(node) in guarded
        elif isinstance(node, ast.ImportFrom):
            yield node.level, (node.module or "").partition(".")[0], id(node) in guarded


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_only_the_standard_library_and_itself(path):
    for level, name, guarded in imports(path):
        if level or name in sys.stdlib_module_names or name in ("repro_runtime", "_repro_recorder"):
            continue
        assert name in GUESTS, f"{path.name} imports {name}"
        assert guarded, f"{path.name} imports {name} outside of try"
