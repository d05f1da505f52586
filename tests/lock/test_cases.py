"""Every case of the casebook: what must be found is found at its place, and nothing secret is ever said."""

import json
import re
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.lock import Requests, examine, read
from repro.model.project import Dependencies, Project, Settings

CASES = Path(__file__).resolve().parent.parent / "cases" / "deps"
NAMES = sorted(path.name for path in CASES.iterdir())
SECRETS = ("not-a-real-secret", "also-not-real")


def project(name: str, python: str = "") -> Project:
    origins = {"dependencies.python": "option"} if python else {}
    settings = Settings(dependencies=Dependencies(python=python))
    return Project(root=str(CASES / name / "project"), file="", settings=settings, origins=origins)


def expected(name: str) -> dict[str, object]:
    return json.loads((CASES / name / "expected.json").read_text("utf-8"))


def place(where: str) -> tuple[str, set[int]]:
    file, colon, lines = where.rpartition(":")
    if not colon or not re.fullmatch(r"[\d,-]+", lines):
        return where, set()
    found: set[int] = set()
    for part in lines.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return file, found


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_detected_at_its_place(name: str) -> None:
    found = examine(project(name)).findings
    for wanted in expected(name)["must_detect"]:
        file, lines = place(wanted["where"])
        fits = [f for f in found if f.code == wanted["code"] and f.file == file and lines <= set(f.lines)]
        assert fits, (wanted, [(f.code, f.where) for f in found])


@pytest.mark.parametrize("name", NAMES)
def test_the_outcome_is_right(name: str) -> None:
    if expected(name)["outcome"] == "error":
        with pytest.raises(ReproError) as caught:
            read(project(name))
        assert caught.value.code == "lock-input"
        assert caught.value.exit_status == 2
        errors = [f for f in examine(project(name)).findings if f.severity == "error"]
        said = [line for line in caught.value.found if not line.startswith("also: ")]
        assert len(said) == len(errors)
        assert all(any(f.where in line and f.code in line for line in said) for f in errors)
        assert caught.value.needs
    else:
        assert any(f.severity == "warning" for f in read(project(name)).findings)


@pytest.mark.parametrize("name", NAMES)
def test_no_password_is_ever_said(name: str) -> None:
    requests = examine(project(name))
    said = "\n".join(f"{f.where} {f.text} {f.remedy}" for f in requests.findings)
    try:
        read(project(name))
    except ReproError as problem:
        said += json.dumps(problem.document())
    assert not [secret for secret in SECRETS if secret in said]


def texts(requests: Requests) -> list[str]:
    return [r.text for r in requests.requirements]


def test_conda_is_translated() -> None:
    got = read(project("conda_env_with_pip"))
    assert texts(got)[:3] == ["torch==1.8.1+cu111", "torchvision==0.9.1+cu111", "einops==0.3.0"]
    assert got.requirements[3].url.startswith("git+https://")
    assert got.system == ("ffmpeg",)
    assert got.python[0].python == "3.8"


def test_paths_of_other_machines_are_dropped_and_numpy_stays_below_2() -> None:
    got = read(project("conda_file_urls"))
    assert "numpy" in texts(got)
    assert not [r for r in got.requirements if r.url or r.path]
    assert [c.text for c in got.constraints] == ["numpy<2"]
    assert got.left_out == {"mkl-fft": "a conda build leftover"}


def test_a_conflict_shows_both_ways_out() -> None:
    with pytest.raises(ReproError) as caught:
        read(project("conflicting_pins"))
    remedies = " ".join(caught.value.needs)
    assert "torch==1.10.1" in remedies
    assert "torchvision==0.11.1" in remedies


def test_warnings_are_said_beside_errors() -> None:
    with pytest.raises(ReproError) as caught:
        read(project("index_with_password"))
    assert any("requirements.txt:2  trusted-host" in line for line in caught.value.found)


@pytest.mark.parametrize("name", ["conda_list_export", "conda_windows_cpu"])
def test_what_conda_exported_is_translated(name: str) -> None:
    got = read(project(name, python="3.8"))
    assert sorted(texts(got)) == sorted(expected(name)["resolved"])
    assert got.python[0].python == "3.8"


def test_locks_of_other_tools_limit_ours() -> None:
    got = read(project("uv_sources_and_lock"))
    assert [c.text for c in got.constraints] == ["numpy==2.0.2", "torch==2.4.1+cu124"]
    assert {r.name: r.source for r in got.requirements} == {"torch": "pytorch-cu124", "numpy": ""}


def test_a_pipfile_is_read() -> None:
    got = read(project("pipfile_named_source"))
    assert texts(got) == ["torch==2.0.1+cu118", "numpy"]
    assert [s.kind for s in got.sources] == ["index", "extra-index"]
    assert [r.source for r in got.requirements] == ["pytorch", ""]


def test_names_of_the_standard_library_are_left_out_where_it_has_them() -> None:
    assert texts(read(project("stdlib_names"))) == ["torch==1.10.0", "numpy==1.21.6"]
    assert "dataclasses==0.6" in texts(examine(project("stdlib_names", python="3.6")))


def test_the_deprecated_name_is_replaced() -> None:
    assert texts(read(project("deprecated_sklearn"))) == ["numpy==1.23.5", "scikit-learn", "torch==1.13.1"]


def test_local_tags_stay_and_the_page_stays() -> None:
    got = read(project("find_links_local_tag"))
    assert texts(got)[:2] == ["torch==1.10.1+cu111", "torchvision==0.11.2+cu111"]
    assert [s.kind for s in got.sources] == ["find-links"]


def test_constraints_are_no_requirements() -> None:
    got = examine(project("nested_includes"))
    assert {r.name for r in got.requirements} == {"torch", "numpy"}
    pins = [f"{r.name}=={got.pin_of(r.name)}" for r in got.requirements]
    assert pins == expected("nested_includes")["resolved"]


@pytest.mark.parametrize("name", ["numpy2_old_torch", "conda_file_urls", "setup_py_only", "torch_unpinned"])
def test_numpy_2_is_kept_away_from_old_torch_alone(name: str) -> None:
    added = [c.text for c in examine(project(name)).constraints]
    assert added == ([] if name == "torch_unpinned" else ["numpy<2"])


def test_old_metadata_asks_for_an_old_pip() -> None:
    from repro.lock.place import tools_for

    got = read(project("old_metadata_below"))
    assert got.old_metadata
    assert tools_for("3.10", old_metadata=True).pip == "24.0"
    assert tools_for("3.10").pip != "24.0"


def test_old_torch_names_the_pythons_that_work() -> None:
    with pytest.raises(ReproError) as caught:
        read(project("old_torch_new_python"))
    assert any("3.8, 3.7, 3.6, 3.5" in line for line in caught.value.needs)
    read(project("old_torch_new_python", python="3.8"))


def test_poetry_ranges_and_sources() -> None:
    got = read(project("poetry_torch_source"))
    assert texts(got) == ["torch<3,>=2.0", "torchvision", "numpy<1.25,>=1.24"]
    assert [r.source for r in got.requirements] == ["pytorch-cu118", "pytorch-cu118", ""]
    assert got.sources[0].explicit
    assert got.python[0].python == ">=3.9,<4"


def test_a_guess_waits_for_a_yes_and_counts_only_packages() -> None:
    with pytest.raises(ReproError) as caught:
        read(project("readme_only"))
    guess = next(line for line in caught.value.needs if "requirements.in" in line)
    assert guess.endswith("torch torchvision tensorboardX PyYAML")


def test_setup_py_is_not_run() -> None:
    assert texts(read(project("setup_py_only"))) == ["torch<2,>=1.7", "numpy", "pyyaml>=5"]


def test_utf16_is_read() -> None:
    assert texts(read(project("utf16_requirements"))) == expected("utf16_requirements")["resolved"]


def test_windows_packages_are_left_out_and_the_rest_is_kept() -> None:
    got = read(project("windows_freeze"))
    assert set(got.left_out) == {"pywin32", "pywinpty", "win-inet-pton"}
    assert "colorama==0.4.6" in texts(got)
    assert "torch==2.0.1+cu118" in texts(got)


def test_a_local_package_stays_a_path() -> None:
    got = read(project("local_editable"))
    assert [r.path for r in got.requirements] == ["", "", "lib"]
