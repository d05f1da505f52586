"""Settings are decoded strictly, and every mistake is named with place, what was found and what is needed."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from repro import project
from repro.errors import ReproError, kinds
from repro.model.project import Settings

Make = Callable[..., Path]

WHOLE = """\
schema = 1
name = "digits-cnn"
[code]
command = ["python", "train.py", "--params", "{params}", "--out", "{out}"]
[dependencies]
python = "3.10"
requirements = ["requirements.in"]
base = "python:3.10-slim-bookworm"
system = ["libgl1"]
[params]
file = "params.json"
[eval]
path = "eval"
max_mb = 50
log = {acc = 'acc: ([\\d.]+)'}
[checkpoint]
dir = "{out}"
resume = ["--resume", "{checkpoint}"]
[protocol]
precision = "fp32"
seed = "seed"
micro_batch = "micro_batch"
accumulation = 2
effective_batch = 64
deterministic = "warn"
metric = "eval_acc"
better = "higher"
margin = 0.01
[targets]
gpus = ["A100-80GB"]
driver = "535.104.05"
"""


def refused(root: Path, **overrides: object) -> ReproError:
    with pytest.raises(ReproError) as caught:
        project.load(root, {k.replace("__", "."): v for k, v in overrides.items()})
    assert caught.value.exit_status == 2
    assert caught.value.code in kinds()
    return caught.value


def test_whole_file_is_read_with_origins(make: Make) -> None:
    found = project.load(make({"repro.toml": WHOLE}))
    assert found.file == "repro.toml"
    assert found.settings.eval.max_mb == 50.0
    assert found.settings.protocol.margin == 0.01
    assert found.settings.targets.gpus == ["A100-80GB"]
    assert found.origin("dependencies.python") == found.origin("eval.log") == "file"
    assert found.origin("eval.max_files") == "default"
    assert project.guesses(found) == []


def test_table_in_pyproject_is_the_same(make: Make) -> None:
    table = "".join(
        line.replace("[", "[tool.repro.", 1) if line.startswith("[") else line
        for line in WHOLE.splitlines(keepends=True)
    )
    found = project.load(make({"pyproject.toml": "[tool.repro]\n" + table}))
    assert found.file == "pyproject.toml"
    assert found.settings == msgspec.convert(__import__("tomllib").loads(WHOLE), Settings)


def test_options_win_over_the_file(make: Make) -> None:
    root = make({"repro.toml": WHOLE})
    found = project.load(root, {"eval.max_mb": 7, "dependencies.requirements": ("a.txt",), "eval.path": None})
    assert found.settings.eval.max_mb == 7.0
    assert found.settings.dependencies.requirements == ["a.txt"]
    assert (found.origin("eval.max_mb"), found.origin("eval.path")) == ("option", "file")
    assert refused(root, eval__max_mbb=1).code == "config-unknown-key"
    problem = refused(root, eval__max_mb="much")
    assert (problem.code, "the options given" in problem.message) == ("config-type", True)


@pytest.mark.parametrize(
    ("text", "place", "meant"),
    [
        ('name = "a"\n[eval]\nsmaple = 1\npaths = "eval"\n', "`repro.toml`, line 3", "remove"),
        ('[eval]\n# a comment\npahth = "eval"\n', "`repro.toml`, line 3", "`eval.path`"),
        ('[evall]\npath = "eval"\n', "`repro.toml`, line 1", "`eval`"),
        ('eval.paht = "eval"\n', "`repro.toml`, line 1", "`eval.path`"),
        ('max_mb = 3\n', "`repro.toml`, line 1", "`eval.max_mb`"),
        ('[protocol]\nmicrobatch = 3\n', "`repro.toml`, line 2", "`protocol.micro_batch`"),
        ('protocol = {seeds = 3}\n', "`repro.toml`, line 1", "`protocol.seed`"),
    ],
)  # fmt: skip
def test_unknown_key(make: Make, text: str, place: str, meant: str) -> None:
    problem = refused(make({"repro.toml": text}))
    assert problem.code == "config-unknown-key"
    assert problem.message.startswith(place)
    assert meant in problem.tries[0]
    assert problem.needs[0].startswith("one of: ")


def test_unknown_key_in_pyproject_has_its_line(make: Make) -> None:
    problem = refused(make({"pyproject.toml": '[project]\nname = "x"\n\n[tool.repro.eval]\nmax_mv = 3\n'}))
    assert problem.message.startswith("`pyproject.toml`, line 5")


@pytest.mark.parametrize(
    ("text", "found", "needs"),
    [
        ("[dependencies]\npython = 3.10\n", "3.1 (a number)", "text"),
        ('[eval]\nmax_mb = "100"\n', "'100' (text)", "a number"),
        ('[code]\ncommand = "python train.py"\n', "'python train.py' (text)", "a list"),
        ("[protocol]\nseed = [1]\n", "[1] (a list)", "a whole number or text or nothing"),
        ('[protocol]\nprecision = "fp23"\n', "'fp23'", "one of: fp32, tf32"),
        ("[eval]\nmax_files = 1.5\n", "1.5 (a number)", "a whole number"),
        ("eval = 3\n", "3 (a whole number)", "a table"),
        ('schema = "1"\n', "'1' (text)", "a whole number"),
    ],
)
def test_wrong_type(make: Make, text: str, found: str, needs: str) -> None:
    problem = refused(make({"repro.toml": text}))
    assert problem.code == "config-type"
    assert problem.found == (found,)
    assert problem.needs[0].startswith(needs)
    assert f"line {text.count(chr(10))}" in problem.message


def test_newer_schema(make: Make) -> None:
    problem = refused(make({"repro.toml": 'schema = 2\nfuture = "x"\n'}))
    assert (problem.code, problem.found) == ("config-schema-newer", ("schema = 2",))


def test_two_places(make: Make) -> None:
    problem = refused(make({"repro.toml": 'name = "a"\n', "pyproject.toml": '[tool.repro]\nname = "b"\n'}))
    assert problem.code == "config-two-files"
    assert "repro.toml" in problem.message
    assert "pyproject.toml" in problem.message
    assert (
        project.load(make({"repro.toml": "", "pyproject.toml": '[tool.repro]\nname = "b"\n'})).settings.name
        == "b"
    )


@pytest.mark.parametrize("text", ["name = \n", "a = 1\na = 2\n", "[x\n"])
def test_no_toml(make: Make, text: str) -> None:
    problem = refused(make({"repro.toml": text}))
    assert problem.code == "config-syntax"
    assert "line" in problem.found[0] or "end of document" in problem.found[0]


def test_text_in_another_encoding(make: Make) -> None:
    root = make()
    (root / "repro.toml").write_bytes('name = "a"\n'.encode("utf-16"))
    assert refused(root).code == "config-unreadable"
    (root / "repro.toml").write_bytes('name = "a"\r\n'.encode("utf-8-sig"))
    assert project.load(root).settings.name == "a"


def test_missing_folder(tmp_path: Path) -> None:
    assert refused(tmp_path / "none").code == "project-missing"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[code]\ncommand = []\n", "is empty"),
        ('[code]\ncommand = ["python", "{parms}"]\n[params]\nfile = "p.json"\n', "{params}"),
        ('[code]\ncommand = ["python", "{checkpoint}"]\n', "resume ="),
        ('[code]\ncommand = ["python", "{params}"]\n', "`params.file` is not set"),
        ('[code]\ncommand = ["python", "{eval}"]\n', "`eval.path` is not set"),
        ('[params]\nfile = "/etc/params.json"\n', "points outside the project"),
        ('[eval]\npath = "../data"\n', "points outside the project"),
        ('[eval]\npath = "a/../../data"\n', "points outside the project"),
        ('[dependencies]\nrequirements = ["~/r.txt"]\n', "points outside the project"),
        ('[eval]\nmetrics = "../m.json"\n', "points outside the output folder"),
        ('[checkpoint]\ndir = "/ckpt"\n', "no folder of the run"),
        ('[protocol]\nmargin = -0.1\nmetric = "acc"\n', "0 or more"),
        ("[protocol]\nmargin = nan\nmetric = 'acc'\n", "0 or more"),
        ("[protocol]\nmargin = 0.1\n", "without a metric"),
        ("[protocol]\ntarget = 0.1\n", "without a metric"),
        ("[protocol]\nmetric = 'acc'\ntarget = inf\n", "no number"),
        ("[protocol.margins]\nf1 = -1\n", "is no size for `f1`"),
        ("[protocol]\nmetric = 'acc'\nmargins = {acc = 1}\n", "has the metric itself"),
        ("[eval]\nmax_mb = 0\n", "above 0"),
        ('name = "Digits CNN"\n', "small letters"),
        ('[dependencies]\npython = "3.11.4"\n', "without the patch level"),
        ("[eval]\nlog = {acc = 'acc: [0-9]+'}\n", "has no group"),
        ("[eval]\nlog = {acc = 'acc: ('}\n", "has no regular expression"),
        ("[protocol]\neffective_batch = 0\n", "batch size"),
        ('[targets]\ngpus = ["a100", " "]\n', "repro gpus"),
        ('[targets]\ngpus = ["a100"]\ndriver = "newest"\n', "535.104.05"),
        ('[targets]\ndriver = "12.2"\n', "`targets.driver` is no driver version"),
    ],
)
def test_values_that_cannot_work(make: Make, text: str, words: str) -> None:
    problem = refused(make({"repro.toml": text}))
    assert problem.code == "config-value"
    assert words in "\n".join([problem.message, *problem.needs, *problem.tries])
    assert problem.message.startswith("`repro.toml`, line ")


def test_braces_that_are_no_placeholder_are_left_alone(make: Make) -> None:
    words = ["python", "train.py", '{"lr": 0.1}', "a{1,2}"]
    text = f"[code]\ncommand = {msgspec.json.encode(words).decode()}\n"
    assert project.load(make({"repro.toml": text})).settings.code.command == words


def settings(**protocol: object) -> Settings:
    return msgspec.convert({"protocol": protocol}, Settings)


def test_names_of_parameters_become_values() -> None:
    values = {"seed": 7, "train": {"batch": 16}, "a.b": 2}
    table = project.check_names(
        settings(seed="seed", micro_batch="train.batch", accumulation="a.b", effective_batch=64), values
    )
    assert (table["seed"], table["micro_batch"], table["accumulation"]) == (7, 16, 2)
    assert table["precision"] == "fp32"
    assert project.check_names(settings(seed=3), {})["seed"] == 3


def test_younger_settings_leave_the_table_of_older_bundles_as_it_was() -> None:
    """Its digest is part of a bundle's id."""
    known = "precision seed micro_batch accumulation effective_batch deterministic metric better margin"
    assert set(project.check_names(settings(), {})) == set(known.split())
    table = project.check_names(settings(metric="acc", margins={"f1": 1}, target=0), {})
    assert (table["margins"], table["target"]) == ({"f1": 1.0}, 0.0)


@pytest.mark.parametrize(
    ("protocol", "code", "words"),
    [
        ({"seed": "sede"}, "config-name-unknown", 'seed = "seed"'),
        ({"micro_batch": "seeds"}, "config-name-unknown", "micro_batch"),
        ({"micro_batch": "name"}, "config-batch", "whole number"),
        ({"micro_batch": 24, "effective_batch": 64}, "config-batch", "effective_batch = 24"),
        ({"micro_batch": 16, "accumulation": 8, "effective_batch": 64}, "config-batch", "128"),
    ],
)
def test_names_and_batches_that_do_not_fit(protocol: dict[str, object], code: str, words: str) -> None:
    with pytest.raises(ReproError) as caught:
        project.check_names(settings(**protocol), {"seed": 1, "batch": 2, "name": "x"})
    assert caught.value.code == code
    assert words in "\n".join([caught.value.message, *caught.value.needs, *caught.value.tries])


def test_a_need_of_memory_is_a_size(make: Make) -> None:
    settings = '[code]\ncommand = ["python", "train.py"]\n[targets]\nmemory = "{}"\n'
    assert project.load(make({"repro.toml": settings.format("40 GiB")})).settings.targets.memory == "40 GiB"
    with pytest.raises(ReproError) as caught:
        project.load(make({"repro.toml": settings.format("much")}))
    assert caught.value.code == "config-value"
    assert "targets.memory" in caught.value.message
