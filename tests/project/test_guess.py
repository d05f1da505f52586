"""A project of the usual layout needs no settings; each guess names the file that speaks for it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro import project
from repro.errors import ReproError

Make = Callable[..., Path]
ARGUMENTS = """\
import argparse
raise SystemExit("this script must never be executed")
parser = argparse.ArgumentParser()
"""


def guessed(root: Path) -> dict[str, tuple[Any, str]]:
    return {g.key: (g.value, g.evidence) for g in project.guesses(project.load(root))}


def test_usual_layout(make: Make) -> None:
    script = ARGUMENTS + "".join(
        f"parser.add_argument({o})\n"
        for o in ("'--params'", "'--out', default='out'", "'--resume', default=''")
    )
    root = make(
        {
            "train.py": script,
            "requirements.in": "torch\n",
            "params.json": json.dumps({"seed": 0, "micro_batch": 32, "accumulate": 1, "lr": 0.1}),
            "eval/images.npz": "x",
            ".python-version": "3.10.4\n",
        }
    )
    assert guessed(root) == {
        "name": ("my-project", "the folder's name"),
        "code.command": (["python", "train.py", "--params", "{params}", "--out", "{out}"], "train.py"),
        "dependencies.python": ("3.10", ".python-version"),
        "dependencies.requirements": (["requirements.in"], "requirements.in"),
        "params.file": ("params.json", "params.json"),
        "eval.path": ("eval", "eval"),
        "checkpoint.resume": (["--resume", "{checkpoint}"], "train.py"),
        "protocol.seed": ("seed", "params.json"),
        "protocol.micro_batch": ("micro_batch", "params.json"),
        "protocol.accumulation": ("accumulate", "params.json"),
    }


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("parser.add_argument('-c', '--config', type=str)\n", ["--config", "{params}"]),
        ("parser.add_argument('--out', action='store_true')\n", []),
        ("parser.add_argument('--eval', action='store_true')\n", []),
        ("parser.add_argument('--save_dir', type=Path)\n", ["--save_dir", "{out}"]),
        ("parser.add_argument('--eval-path')\n", ["--eval-path", "{eval}"]),
        (
            "parser.add_argument('--output-dir')\nparser.add_argument('--epochs', type=int)\n",
            ["--output-dir", "{out}"],
        ),
        ("from options import parser\n", ["--cfg", "{params}"]),
        ("this is not Python 3\n", []),
    ],
)
def test_options_are_read_and_not_executed(make: Make, lines: str, words: list[str]) -> None:
    options = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--cfg')\n"
    files = {"train.py": ARGUMENTS + lines, "options.py": options, "params.yaml": "lr: 1\n", "val/x.bin": "x"}
    assert guessed(make(files))["code.command"][0] == ["python", "train.py", *words]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"main.py": ""}, "main.py"),
        ({"src/train.py": ""}, "src/train.py"),
        ({"my_training.py": ""}, "my_training.py"),
        ({"model.py": ""}, None),
        ({"pretrain_gpt.py": ""}, "pretrain_gpt.py"),
        ({"main_dino.py": "", "model.py": ""}, "main_dino.py"),
    ],
)
def test_command(tmp_path: Path, files: dict[str, str], command: str | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    if command:
        assert guessed(tmp_path)["code.command"][0] == ["python", command]
    else:
        with pytest.raises(ReproError, match="no training command"):
            project.load(tmp_path)


def test_no_command_names_what_was_looked_for_and_the_line_to_add(tmp_path: Path) -> None:
    for name in ("train_a.py", "train_b.py"):
        (tmp_path / name).write_text("")
    with pytest.raises(ReproError) as caught:
        project.load(tmp_path)
    problem = caught.value
    assert (problem.code, problem.exit_status) == ("config-no-command", 2)
    assert "train_a.py, train_b.py" in problem.found[0]
    assert "train.py, main.py" in problem.needs[0]
    line = problem.tries[0].split(":  ", 1)[1]
    (tmp_path / "repro.toml").write_text(line + "\n")
    assert project.load(tmp_path).settings.code.command == ["python", "train_a.py"]


@pytest.mark.parametrize(
    ("files", "python", "evidence"),
    [
        ({}, "3.11", "default"),
        ({".python-version": "3.9\n"}, "3.9", ".python-version"),
        ({".python-version": "my-env\n", "runtime.txt": "python-3.8.10\n"}, "3.8", "runtime.txt"),
        ({"environment.yml": "dependencies:\n  - python=3.7\n  - pip\n"}, "3.7", "environment.yml"),
        ({"environment.yml": "dependencies:\n  - python=3.6.9=h0371630_0\n"}, "3.6", "environment.yml"),
        ({"pyproject.toml": '[project]\nrequires-python = ">=3.8"\n'}, "3.11", "pyproject.toml"),
        ({"pyproject.toml": '[project]\nrequires-python = ">=3.8,<3.10"\n'}, "3.9", "pyproject.toml"),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.12"\n'}, "3.12", "pyproject.toml"),
        ({"pyproject.toml": '[project]\nrequires-python = "==3.10.*"\n'}, "3.10", "pyproject.toml"),
        ({"setup.py": "setup(python_requires='>=3.6, <3.8')\n"}, "3.7", "setup.py"),
        ({"setup.cfg": "[options]\npython_requires = ~=3.9.2\n"}, "3.9", "setup.cfg"),
        ({"setup.cfg": "not an ini file"}, "3.11", "default"),
    ],
)
def test_python(make: Make, files: dict[str, str], python: str, evidence: str) -> None:
    found = project.load(make(files))
    assert found.settings.dependencies.python == python
    origin = found.origin("dependencies.python")
    assert origin == ("default" if evidence == "default" else f"guessed from {evidence}")
    assert any("no file says which Python" in n for n in found.notes) == (evidence == "default")


@pytest.mark.parametrize(
    ("files", "chosen", "others"),
    [
        (
            {"requirements.txt": "", "requirements.in": "", "setup.py": ""},
            "requirements.in",
            "requirements.txt, setup.py",
        ),
        ({"environment.yml": "", "pyproject.toml": "[tool.ruff]\n"}, "environment.yml", ""),
        (
            {"pyproject.toml": '[project]\ndependencies = ["torch"]\n', "setup.cfg": "[flake8]\n"},
            "pyproject.toml",
            "",
        ),
        ({"setup.cfg": "[options]\ninstall_requires = torch\n"}, "setup.cfg", ""),
        ({"README.md": "pip install torch"}, None, ""),
    ],
)
def test_requirements(make: Make, files: dict[str, str], chosen: str | None, others: str) -> None:
    found = project.load(make(files))
    assert found.settings.dependencies.requirements == ([chosen] if chosen else [])
    notes = "\n".join(found.notes)
    assert (f"not used: {others}" in notes) if others else ("not used" not in notes)
    assert ("no file lists dependencies" in notes) == (chosen is None)


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"eval/run.py": "", "eval/metrics.py": ""}, ""),
        ({"eval/run.py": "", "eval/set.csv": "a"}, "eval"),
        ({"eval.py": "", "eval.yaml": ""}, ""),
        ({"eval.csv": "a"}, "eval.csv"),
        ({"data/eval_small.npz": "a"}, "data/eval_small.npz"),
        ({"val/cats/1.png": "a"}, "val"),
        ({"test_data/x.bin": "a"}, "test_data"),
        ({"tests/test_x.py": ""}, ""),
    ],
)
def test_eval_set(make: Make, files: dict[str, str], path: str) -> None:
    assert project.load(make(files)).settings.eval.path == path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "seed: 1\ntrain:\n  batch_size: 8\n  grad_accum: 2\n",
            ("seed", "train.batch_size", "train.grad_accum"),
        ),
        ("random_seed: 1\nbatch: many\n", ("random_seed", None, None)),
        ("seed: [1, 2\n", (None, None, None)),
        ("train: {seed: 2}\nseed: 1\n", ("seed", None, None)),
    ],
)
def test_parameters(make: Make, text: str, names: tuple[str | None, ...]) -> None:
    protocol = project.load(make({"config.yaml": text})).settings.protocol
    assert (protocol.seed, protocol.micro_batch, protocol.accumulation) == names


def test_what_the_file_says_is_not_guessed(make: Make) -> None:
    files = {
        "params.json": '{"seed": 1}',
        "eval/x": "a",
        "requirements.txt": "",
        "repro.toml": "params.file = ''\neval.path = ''\n",
    }
    found = project.load(make(files))
    assert (found.settings.params.file, found.settings.eval.path, found.settings.protocol.seed) == (
        "",
        "",
        None,
    )
    assert found.origin("params.file") == "file"
    assert found.origin("dependencies.requirements") == "guessed from requirements.txt"


@pytest.mark.parametrize(
    ("text", "python", "evidence"),
    [
        ("torch==1.10.1+cu111\n", "3.9", "requirements.txt: torch 1.10.1"),
        ("torch==1.10\n", "3.9", "requirements.txt: torch 1.10"),
        ("torch==2.4.0\n", "3.11", "requirements.txt: torch 2.4.0"),
        (
            "# autogenerated by pip-compile with Python 3.8\ntorch==2.1.2\n",
            "3.8",
            "requirements.txt: pip-compile",
        ),
        (
            "https://x.example.invalid/torch-1.9.0-cp37-cp37m-linux_x86_64.whl\n",
            "3.7",
            "requirements.txt: cp37-cp37m-linux",
        ),
        ("python=3.8.10=h12debd9_8\n", "3.8", "requirements.txt: conda's python"),
    ],
)
def test_python_that_pins_speak_for(tmp_path: Path, text: str, python: str, evidence: str) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "requirements.txt").write_text(text)
    found = project.load(tmp_path)
    assert found.settings.dependencies.python == python
    assert found.origin("dependencies.python") == f"guessed from {evidence}"


def test_a_conda_file_that_reads_the_requirements_is_taken(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "requirements.txt").write_text("torch\n")
    (tmp_path / "environment.yml").write_text("dependencies:\n  - pip:\n    - -r requirements.txt\n")
    assert project.load(tmp_path).settings.dependencies.requirements == ["environment.yml"]


def test_a_script_that_trains_is_offered_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "gcn").mkdir()
    (tmp_path / "gcn" / "fit_cora.py").write_text("loss = f()\nloss.backward()\n")
    (tmp_path / "gcn" / "layers.py").write_text("class Layer: pass\n")
    with pytest.raises(ReproError) as caught:
        project.load(tmp_path)
    assert caught.value.code == "config-no-command"
    assert caught.value.found == ("may be it: gcn/fit_cora.py",)
    assert '"gcn/fit_cora.py"' in caught.value.tries[0]
