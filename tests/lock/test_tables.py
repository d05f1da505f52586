"""The tables say where each outside fact was read, agree with one another, and a guess is told as a guess."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from repro.lock import examine
from repro.lock.place import tools_for
from repro.lock.requests import normal
from repro.lock.table import guessed, known, table

Make = Callable[..., Any]

TABLES = sorted(p.name for p in (files("repro") / "data").iterdir() if p.name.endswith(".toml"))
ABOUT_THE_FILE = {"schema_version", "collected"}
BY_NAME = ("deprecated", "os_only", "left_over", "needs_system")
OF_CONDA = ("conda_system", "conda_python", "conda_only", "conda_toolchain")


def loaded(name: str) -> dict[str, Any]:
    return tomllib.loads((files("repro") / "data" / name).read_text("utf-8"))


def unsourced(value: Any, where: str) -> Iterator[str]:
    """Places of rows without a source; `source` speaks for what is inside too, `x_source` for its row."""
    if isinstance(value, list):
        for number, row in enumerate(value):
            yield from unsourced(row, f"{where}[{number}]")
    elif isinstance(value, dict):
        if str(value.get("source", "")).strip():
            return
        inner = {k: v for k, v in value.items() if isinstance(v, dict) or is_rows(v)}
        figures = value.keys() - inner.keys() - ABOUT_THE_FILE
        if figures and not any(k.endswith("_source") and str(value[k]).strip() for k in figures):
            yield where
        for key, row in inner.items():
            yield from unsourced(row, f"{where}.{key}")


def is_rows(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(row, dict) for row in value)


def sources(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for row in value:
            yield from sources(row)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from [str(inner)] if key == "source" else sources(inner)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_source(name: str) -> None:
    assert list(unsourced(loaded(name), name)) == []


@pytest.mark.parametrize(
    ("row", "bare"),
    [
        ({"a": {"to": "b", "source": "x#1"}}, []),
        ({"a": {"to": "b", "source": " "}}, ["t.a"]),
        ({"a": {"b": "c"}}, ["t.a"]),
        ({"a": [{"names": {"b": "c"}, "source": "x#1"}, {"names": ["b"]}]}, ["t.a[1]"]),
        ({"schema_version": 1, "a": [{"b": 1, "b_source": "run", "c": [{"d": 1}]}]}, ["t.a[0].c[0]"]),
    ],
)
def test_a_row_without_a_source_is_found(row: dict[str, Any], bare: list[str]) -> None:
    assert list(unsourced(row, "t")) == bare


@pytest.mark.parametrize("name", sorted(set(TABLES) - {"torch_releases.toml"}))
def test_a_source_is_a_place_or_a_guess(name: str) -> None:
    found = list(sources(loaded(name)))
    assert found
    assert not [s for s in found if re.search(r"not looked up|general knowledge|from memory|unknown", s)]
    assert not [s for s in found if "guess" in s and s != "guess"]


def test_guesses_stand_only_where_they_are_told_as_guesses() -> None:
    grouped = [section for section, rows in table("package_names").items() if isinstance(rows, list)]
    assert {section for section in grouped if guessed(section)} == {"conda_python", "words"}
    for section in table("package_names").keys() - set(grouped):
        assert "guess" not in set(sources(table("package_names")[section]))


def test_names_are_in_normal_form() -> None:
    for section in BY_NAME:
        assert [n for n in table("package_names")[section] if n != normal(n)] == []
    assert [n for n in known("public") if n != normal(n)] == []
    for section in ("removed_releases", "old_metadata"):
        assert [row["name"] for row in table(section)["release"] if row["name"] != normal(row["name"])] == []
    conda = [n for section in OF_CONDA for n in names_of(section)]
    assert [n for n in conda if n != n.lower()] == []


def names_of(section: str) -> dict[str, Any]:
    rows = table("package_names")[section]
    return rows if isinstance(rows, dict) else known(section)


@pytest.mark.parametrize("sections", [BY_NAME[:3], OF_CONDA])
def test_a_name_has_one_meaning(sections: tuple[str, ...]) -> None:
    counted = Counter(name for section in sections for name in names_of(section))
    assert [name for name, count in counted.items() if count > 1] == []


def test_no_group_says_a_name_twice() -> None:
    for section, groups in table("package_names").items():
        if isinstance(groups, list):
            counted = Counter(name for group in groups for name in group["names"])
            assert [(section, name) for name, count in counted.items() if count > 1] == []


def test_what_is_meant_is_not_itself_a_wrong_name() -> None:
    sections = table("package_names")
    wrong = {*sections["deprecated"], *sections["os_only"], *sections["left_over"]}
    meant = [row["to"] for row in sections["deprecated"].values()]
    meant += [*known("conda_python").values(), *known("words").values()]
    assert [name for name in meant if normal(Requirement(name).name) in wrong] == []
    assert [m for m, p in known("imports").items() if normal(m) == normal(p)] == []


def test_imports_name_something_that_can_be_asked_for() -> None:
    for module, asked in known("imports").items():
        assert module.isidentifier()
        assert asked.startswith("git+https://") or Requirement(asked).name


def test_debian_names_are_debian_names() -> None:
    sections = table("package_names")
    for section in ("needs_system", "conda_system"):
        for row in sections[section].values():
            assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in row["debian"])
            SpecifierSet(row.get("versions", ""))
    assert all(row["instead"] not in sections["needs_system"] for row in sections["needs_system"].values()
               if "instead" in row)  # fmt: skip


def test_index_aliases_are_unique() -> None:
    rows = table("index_aliases")["family"]
    named = [row["alias"] for row in rows if row["alias"]]
    addresses = [row["url"] for row in rows if row["url"]]
    assert len(set(named)) == len(named)
    assert len(set(addresses)) == len(addresses)
    assert all("{tag}" in text for text in [*named, *addresses])
    counted = Counter(name for row in rows for name in row["names"])
    assert [name for name, count in counted.items() if count > 1 or name != normal(name)] == []
    tags = ["cpu", "cu92", "cu118", "cu128", "xpu", "rocm5.4.2", "pt20cu118", "pt112cpu"]
    assert all(sum(bool(re.match(row["tags"], tag)) for row in rows) == 1 for tag in tags)


def test_old_metadata_says_what_is_refused() -> None:
    for row in table("old_metadata")["release"]:
        with pytest.raises(InvalidRequirement):
            Requirement(row["says"])
        SpecifierSet(row["versions"])
        assert Requirement(row["culprit"]).name == (row["below"] or [row["name"]])[-1]


def test_a_removed_release_is_not_the_one_to_take_instead() -> None:
    for row in table("removed_releases")["release"]:
        assert row["instead"] not in row["versions"]
        assert row["instead_is"]


def test_tools_go_from_new_to_old() -> None:
    for section in ("tools", "old_metadata"):
        rows = table("lock_tools")[section]
        assert all(Version(a["python"]) > Version(b["python"]) for a, b in pairwise(rows))
        assert all(Version(a["pip"]) >= Version(b["pip"]) for a, b in pairwise(rows))
    assert all(Version(row["pip"]) < Version("24.1") for row in table("lock_tools")["old_metadata"])
    assert tools_for("3.12").source == table("lock_tools")["tools"][0]["source"]


@pytest.mark.parametrize("name", TABLES)
def test_no_registry_host_is_named(name: str) -> None:
    text = (files("repro") / "data" / name).read_text("utf-8")
    assert not re.search(r"pypi\.org|pythonhosted|debian\.org|npmjs", text)


def said(make: Make, files: dict[str, str], code: str) -> list[str]:
    return [f"{f.text}; {f.remedy}" for f in examine(make(files)).findings if f.code == code]


def test_a_guessed_conda_name_is_told_as_a_guess(make: Make) -> None:
    files = {"environment.yml": "dependencies:\n  - faiss\n  - pytables\n"}
    guess, _, fact = "".join(said(make, files, "conda-name")).partition("; ")
    assert guess == "faiss is taken to be, which is a guess, faiss-cpu on the Python index"
    assert fact.startswith("pytables is tables on the Python index")


@pytest.mark.parametrize(
    ("line", "needs"), [("vtk==9.3.1", True), ("vtk==9.7.2", False), ("vtk", True), ("glfw==2.11.0", False)]
)
def test_a_library_is_asked_for_by_the_releases_that_need_it(make: Make, line: str, needs: bool) -> None:
    got = examine(make({"requirements.txt": f"{line}\n"}))
    assert ("libgl1" in got.system) is needs


@pytest.mark.parametrize(
    ("line", "old"),
    [
        ("omegaconf==2.0.0", False),
        ("omegaconf==2.0.6", True),
        ("omegaconf==2.1.0", True),
        ("omegaconf==2.1.1", False),
        ("hydra-core==1.0.4", False),
        ("hydra-core==1.0.7", True),
        ("fairseq==0.10.2", False),
        ("fairseq==0.12.2", True),
        ("pytorch-lightning==1.4.9", False),
        ("pytorch-lightning==1.5.4", True),
        ("pytorch-lightning==1.8.3", True),
        ("pytorch-lightning==1.8.4", False),
        ("mlflow==1.28.0", False),
        ("gym==0.21.0", False),
    ],
)
def test_old_metadata_ends_where_it_was_read_to_end(make: Make, line: str, old: bool) -> None:
    got = examine(make({"requirements.txt": f"{line}\n"}))
    assert got.old_metadata is old
    found = [f.text for f in got.findings if f.code == "invalid-metadata"]
    assert len(found) == old


def test_only_a_release_that_a_source_calls_clean_is_called_clean(make: Make) -> None:
    def told(line: str) -> str:
        return "".join(said(make, {"requirements.txt": f"{line}\n"}, "removed-release"))

    assert told("lightning==2.6.2").endswith("lightning==2.6.1 is the last known clean release before it")
    assert "reports differ" in told("pytorch-lightning==2.6.3")
    assert "clean" not in told("pytorch-lightning==2.6.3")
    makers = "ultralytics==8.3.47 is the first release after it that its makers call clean"
    assert told("ultralytics==8.3.46").endswith(makers)
