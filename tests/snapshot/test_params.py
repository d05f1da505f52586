"""Parameters: read with their types, doubts named, overrides applied in the file's own format."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from repro import snapshot
from repro.errors import ReproError
from repro.model.canonical import pretty
from repro.model.snapshot import ParamSet

TEXTS = {
    "p.json": '{"lr": 0.1, "name": "base", "model": {"depth": 2, "drop": null}, "amp": true,'
    ' "betas": [0.9, 0.99]}',
    "p.yaml": "lr: 0.1  # rate\nname: base\nmodel: {depth: 2, drop: null}\namp: true\nbetas: [0.9, 0.99]\n",
    "p.toml": 'lr = 0.1\nname = "base"\namp = true\nbetas = [0.9, 0.99]\n[model]\ndepth = 2\n',
}
READ = {".json": json.loads, ".yaml": yaml.safe_load, ".toml": tomllib.loads}


def take(repo: Any, name: str, text: str | bytes, *sets: str) -> tuple[ParamSet, Path]:
    repo.write(name, text)
    into = repo.out()
    return snapshot.take_params(repo.project(params=name), into, sets), into


def refused(repo: Any, name: str, text: str | bytes, *sets: str) -> ReproError:
    with pytest.raises(ReproError) as caught:
        take(repo, name, text, *sets)
    assert caught.value.exit_status == 2
    return caught.value


@pytest.mark.parametrize("name", TEXTS)
def test_file_is_copied_as_it_is_without_overrides(repo: Any, name: str) -> None:
    found, into = take(repo, name, TEXTS[name])
    assert (into / "params" / name).read_text() == TEXTS[name]
    assert found.values["lr"] == 0.1
    assert found.overrides == {}
    assert (into / "params.json").read_bytes() == pretty(found)


@pytest.mark.parametrize("name", TEXTS)
def test_overrides_keep_format_and_types(repo: Any, name: str) -> None:
    sets = ("lr=1", "name=7", "model.depth=4", "amp=false", "betas.0=0.8")
    found, into = take(repo, name, TEXTS[name], *sets)
    values = READ[Path(name).suffix]((into / "params" / name).read_text())
    assert values == {**READ[Path(name).suffix](TEXTS[name]), "lr": 1.0, "name": "7", "amp": False,
                      "betas": [0.8, 0.99], "model": {**values["model"], "depth": 4}}  # fmt: skip
    assert isinstance(values["lr"], float)
    assert found.overrides == {"lr": "1", "name": "7", "model.depth": "4", "amp": "false", "betas.0": "0.8"}
    plain, _ = take(repo, name, TEXTS[name])
    assert found.source_sha256 == plain.source_sha256
    assert found.values != plain.values


@pytest.mark.parametrize(
    ("sets", "code", "words"),
    [
        (("lrr=1",), "params-set-unknown", "--set lr=..."),
        (("model.deptth=1",), "params-set-unknown", "model.depth"),
        (("lr",), "params-set", "KEY=VALUE"),
        (("lr=fast",), "params-set", "a number"),
        (("amp=1",), "params-set", "true or false"),
        (("lr=1", "lr=2"), "params-set", "twice"),
        (("model=3",), "params-set", "a table"),
    ],
)
def test_wrong_overrides(repo: Any, sets: tuple[str, ...], code: str, words: str) -> None:
    problem = refused(repo, "p.json", TEXTS["p.json"], *sets)
    assert problem.code == code
    assert words in "\n".join([problem.message, *problem.needs, *problem.tries])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "p.json",
            '{"lr": 1,\n "m": {"a": 1,\n  "a": 2},\n "lr": 2}',
            ["lr on lines 1 and 4", "m.a on lines 2 and 3"],
        ),
        ("p.json", '{"l": [{"a": 1}, {"a": 2,\n "a": 3}]}', ["l.1.a on lines 1 and 2"]),
        (
            "p.yaml",
            "a: {x: 1, x: 2}\nb:\n  - c: 1\n    c: 2\n",
            ["a.x on lines 1 and 1", "b.0.c on lines 3 and 4"],
        ),
        ("p.yml", "'lr': 1\nlr: 2\n", ["lr on lines 1 and 2"]),
        ("p.toml", "lr = 1\nbatch = 2\nlr = 3\n", ["lr on lines 1 and 3"]),
        ("p.toml", "[m]\na = 1\n[n]\na = 1\n[m]\nb = 2\n", ["m on lines 1 and 5"]),
    ],
)
def test_key_that_stands_twice(repo: Any, name: str, text: str, words: list[str]) -> None:
    problem = refused(repo, name, text)
    assert problem.code == "params-duplicate-key"
    assert list(problem.found) == words


def test_same_key_in_different_tables_is_no_duplicate(repo: Any) -> None:
    for name, text in (
        ("p.json", '{"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 2}], "x": "a\\"x\\": {"}'),
        ("p.yaml", "a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: *a\n"),
        ("p.toml", "[a]\nx = 1\n[b]\nx = 1\n[[c]]\nx = 1\n[[c]]\nx = 2\n"),
    ):
        assert take(repo, name, text)[0].values["b"]["x"] in (1, 2)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("lr: 1e-4", "params-text-number", 'lr (1e-4) is the text "1e-4"'),
        ("lr: 5E3", "params-text-number", "write 5.0e+3"),
        ("v: yes", "params-yaml-versions", "v (yes) is true"),
        ("v: 12:30:45", "params-yaml-versions", "v (12:30:45) is 45045"),
        ("v: 1_000", "params-yaml-versions", "v (1_000) is 1000"),
        ("v: 0o17", "params-yaml-versions", "v (0o17)"),
        ("v: -010", "params-yaml-versions", "is -8 in YAML 1.1 (octal) and -10"),
        ("v: 2024-01-02 03:04:05", "params-date", "v (2024-01-02 03:04:05)"),
        ("v: 9007199254740993", "params-big-int", "digit by digit"),
        ("v: -.inf", "params-nonfinite", "v is infinite"),
        ("l: [1, 2e5]", "params-text-number", "l.1 (2e5)"),
    ],
)
def test_values_that_readers_disagree_on(repo: Any, text: str, code: str, words: str) -> None:
    found, _ = take(repo, "p.yaml", text)
    assert [w.code for w in found.warnings] == [code]
    assert words in found.warnings[0].text
    assert found.warnings[0].where.startswith("p.yaml")


@pytest.mark.parametrize(
    "text", ["v: '1e-4'", 'v: "yes"', "v: 1.0e-4", "v: true", "v: 0", "v: 0.5", "v: abc", "v: ~", "v: -3"]
)
def test_values_that_all_readers_agree_on(repo: Any, text: str) -> None:
    assert take(repo, "p.yaml", text)[0].warnings == []


def test_override_of_an_aliased_table_changes_one_place(repo: Any) -> None:
    found, into = take(repo, "p.yaml", "base: &b {wd: 0.1}\nopt: *b\n", "opt.wd=0.2")
    assert found.values == {"base": {"wd": 0.1}, "opt": {"wd": 0.2}}
    assert yaml.safe_load((into / "params" / "p.yaml").read_text()) == found.values


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", "{lr: 1}"), ("p.json", "[1, 2]"), ("p.json", '{"a": 1,}'),
        ("p.yaml", "a: [1"), ("p.toml", "a = "),
        ("p.yaml", "!!python/object/apply:os.getcwd []"), ("p.yaml", "a: 1\n---\nb: 2\n"),
        ("p.yaml", "a: &x [*x]"),
        ("p.json", b"\xff\xfe{\x00}\x00"), ("p.ini", "[a]\nb = 1\n"), ("p.yaml", "just text"),
        ("p.yaml", "? [a, b]\n: 1\nc: {? {x: 1} : 2}"), ("p.json", "[" * 100_000),
        ("p.json", '{"a": "\\ud800"}'), ("p.json", '{"a": ' + "[" * 900 + "]" * 900 + "}"),
    ],
)  # fmt: skip
def test_files_that_hold_no_parameters(repo: Any, name: str, text: str | bytes) -> None:
    assert refused(repo, name, text).code == "params-format"


def test_missing_file_and_no_file(repo: Any) -> None:
    with pytest.raises(ReproError) as caught:
        snapshot.take_params(repo.project(params="parms.json"), repo.out())
    assert caught.value.code == "params-missing"
    assert "params.json" in caught.value.found[0]
    none = snapshot.take_params(repo.project(), into := repo.out())
    assert (none.file, none.values) == ("", {})
    assert (into / "params.json").exists()
    with pytest.raises(ReproError) as unused:
        snapshot.take_params(repo.project(), repo.out(), ["lr=1"])
    assert unused.value.code == "params-set-unknown"


def test_credentials_in_parameters_are_refused(repo: Any) -> None:
    token = "hf_" + "a1b2c3d4e5" * 3 + "abcd"
    problem = refused(repo, "p.json", '{"lr": 1,\n "hub": "' + token + '"}')
    assert problem.code == "snapshot-secret"
    assert problem.found == ("p.json:2: Hugging Face token",)
    assert refused(repo, "p.json", '{"hub": ""}', f"hub={token}").code == "snapshot-secret"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"a: \x07\n", "#x0007"),
        (b"<<<<<<< HEAD\nlr: 1\n=======\nlr: 2\n>>>>>>> x\n", "line 1: a conflict"),
        ("lr: 1\n".encode("utf-16"), "like UTF-16"),
    ],
)
def test_files_that_no_reader_takes(repo: Any, content: bytes, found: str) -> None:
    repo.write("params.yaml", content)
    with pytest.raises(ReproError) as caught:
        snapshot.take_params(repo.project(params="params.yaml"), repo.out())
    assert caught.value.code == "params-format"
    assert found in caught.value.found[0]


def test_values_that_mean_something_here_alone_are_said(repo: Any) -> None:
    repo.write("params.yaml", "root: /home/me/data\nlr: ${oc.env:LR}\n")
    got = snapshot.take_params(repo.project(params="params.yaml"), repo.out())
    assert {w.code for w in got.warnings} == {"params-path", "params-interpolation"}
    repo.write("params.yaml", "# none\n")
    got = snapshot.take_params(repo.project(params="params.yaml"), repo.out())
    assert [w.code for w in got.warnings] == ["params-empty"]
