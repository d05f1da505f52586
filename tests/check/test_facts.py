"""The small tables of the rules: complete, consistent, each row with its source."""

import re
from datetime import date

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from repro.check.code.serving import image
from repro.check.finding import rule_rows
from repro.check.known.builds import conda_recipe, known_release, known_releases
from repro.tables.read import table
from repro.tables.toolkits import tag_cuda, toolkit
from repro.tables.torchbuilds import releases

OLD = [row for version, row in known_releases().items() if version not in releases()]
RECIPES = table("conda_builds")["recipe"]
FAULTS = table("known_faults")["fault"]


def test_old_releases_come_before_the_table_and_in_order():
    dates = [date.fromisoformat(row.released) for row in known_releases().values()]
    assert dates == sorted(dates)
    assert [row.version for row in OLD] == [
        "0.4.0",
        "0.4.1",
        "1.0.0",
        "1.0.1",
        "1.1.0",
        "1.2.0",
        "1.3.0",
        "1.3.1",
    ]


@pytest.mark.parametrize("row", OLD, ids=lambda row: row.version)
def test_old_release(row):
    assert row.pypi_tag in [build.tag for build in row.builds]
    assert row.source
    for build in row.builds:
        assert tag_cuda(build.tag) == build.cuda
        listed = re.findall(r"(\d)\.(\d)(\+PTX)?", build.torch_cuda_arch_list)
        assert list(build.sass) == [f"sm_{major}{minor}" for major, minor, _ in listed]
        assert list(build.ptx) == [f"compute_{major}{minor}" for major, minor, ptx in listed if ptx]
        assert build.on_pypi == (build.tag == row.pypi_tag)
        assert build.arch_source in ("wheel", "script")


def test_no_release_made_code_for_chips_that_its_toolkit_does_not_know():
    for row in known_releases().values():
        for build in row.builds:
            known = toolkit(build.cuda)
            assert known is None or set(build.sass) <= set(known.sass), (row.version, build.tag)


def test_recipes_are_of_known_toolkits_and_make_what_these_know():
    for row in RECIPES:
        assert row["source"]
        for cuda in row["cuda"]:
            known = toolkit(cuda)
            assert known is None or set(row["sass"]) <= set(known.sass)
        assert all(image(name).kind == "ptx" for name in row["ptx"])


@pytest.mark.parametrize(
    ("version", "cuda", "newest", "ptx"),
    [
        ("1.1.0", "9.0", "sm_70", ("compute_50",)),
        ("1.3.1", "10.1", "sm_75", ("compute_37",)),
        ("1.12.1", "10.2", "sm_75", ("compute_37",)),
        ("1.12.1", "11.6", "sm_86", ("compute_37",)),
        ("2.3.0", "12.1", "sm_90", ()),
    ],
)
def test_recipe_of_a_package(version, cuda, newest, ptx):
    recipe = conda_recipe(version, cuda)
    assert (recipe.sass[-1], recipe.ptx) == (newest, ptx)


def test_no_recipe_is_made_up():
    assert conda_recipe("1.7.0", "12.1") is None
    assert conda_recipe("2.9.0", "13.0") is None


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row["id"])
def test_fault(row):
    assert rule_rows()[row["rule"]].outcome in ("risky", "runs")
    assert row["source"]
    assert row["needed"]
    assert any(key in row for key in ("cuda", "torch"))
    for key in ("cuda", "torch"):
        SpecifierSet(row.get(key, ""))


def test_cuda_errors_have_a_meaning_and_a_cure():
    for code, row in table("cuda_init_errors")["error"].items():
        assert int(code) > 0
        assert row["name"].startswith("CUDA_ERROR_")
        assert row["means"]
        assert row["fix"]


def test_aarch64_facts():
    facts = table("aarch64_builds")
    assert known_release(facts["first_cuda_default"])
    assert known_release(facts["first_cuda_index"])
    assert [Version(row["cuda_from"]) for row in facts["targets"]] == [Version("12.4"), Version("12.8")]
